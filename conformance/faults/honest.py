"""Right kernels that differ legally: in summation order, rounding, layout, or what they refuse."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from conformance.faults.kernel import Call, Kernel, Step, honest
from reference.blocks import BLOCK

honest(
    "block-loop",
    what="The kernel that every fault is seeded into: a float32 loop over K blocks.",
    keeps_arithmetic=True,
)(Kernel)


def _spread(scales: Tensor, k: int) -> Tensor:
    # Not a repeat_interleave that is cut to K: torch.compile for CPUs (2.13.0, 2.14.1) gets its ragged end wrong.
    return scales[:, torch.arange(k, device=scales.device) // BLOCK]


@honest("reversed-blocks", what="K blocks are accumulated from the last to the first.")
class _Reversed(Kernel):
    def steps(self, call: Call) -> list[Step]:
        return super().steps(call)[::-1]


@honest("two-way-split-k", what="Two halves of the K blocks are accumulated apart and added at the end.")
class _SplitK(Kernel):
    def total(self, call: Call) -> Tensor:
        half = call.kb // 2
        return self.part(call, slice(0, half)) + self.part(call, slice(half, None))

    def part(self, call: Call, blocks: slice) -> Tensor:
        return _SomeBlocks(blocks).total(call)


class _SomeBlocks(Kernel):
    def __init__(self, blocks: slice) -> None:
        self.blocks = blocks

    def steps(self, call: Call) -> list[Step]:
        return super().steps(call)[self.blocks]


@honest("dequantised-float64", what="Operands are scaled in float64 and multiplied by one float64 matmul.")
class _Float64(Kernel):
    def total(self, call: Call) -> Tensor:
        a = self.read_a(call).double() * _spread(self.row_scales(call), call.k).double()
        b = self.read_b(call).double() * _spread(self.column_scales(call), call.k).double()
        return (a @ b.t()).float()


@honest("scales-in-turn", what="Each partial product is multiplied by the A scale and then by the B scale.")
class _ScalesInTurn(Kernel):
    def scaled(self, product: Tensor, row: Tensor, column: Tensor) -> Tensor:
        return product * row[:, None] * column[None, :]


@honest("dequantised-float32", what="Operands are scaled in float32 and multiplied by one matmul over all of K.")
class _Float32(Kernel):
    def total(self, call: Call) -> Tensor:
        a = self.read_a(call) * _spread(self.row_scales(call), call.k)
        b = self.read_b(call) * _spread(self.column_scales(call), call.k)
        return a @ b.t()


@honest("pairwise-tree", what="Scaled partial products are added pairwise, as the leaves of a balanced tree.")
class _Pairwise(Kernel):
    def total(self, call: Call) -> Tensor:
        return self.between(call, 0, call.kb)

    def between(self, call: Call, first: int, last: int) -> Tensor:
        if last - first < 2:
            return _SomeBlocks(slice(first, last)).total(call)
        middle = (first + last) // 2
        return self.between(call, first, middle) + self.between(call, middle, last)


@honest(
    "zero-padded",
    what="M is padded to a multiple of 64, N and K to multiples of 128, with zeros; then cropped.",
    keeps_arithmetic=True,
)
class _ZeroPadded(Kernel):
    def run(self, call: Call) -> Tensor:
        down, right, across = -call.m % 64, -call.n % BLOCK, -call.k % BLOCK
        a = pad(call.A.view(torch.uint8), (0, across, 0, down)).view(call.A.dtype)
        b = pad(call.B.view(torch.uint8), (0, across, 0, right)).view(call.B.dtype)
        padded = Call(a, b, pad(call.As, (0, 0, 0, down)), call.Bs, call.out_dtype)
        return super().run(padded)[: call.m, : call.n].contiguous()


@honest(
    "contiguous-copies",
    what="Every operand is copied to packed row-major memory before it is read.",
    keeps_arithmetic=True,
)
class _Copies(Kernel):
    def run(self, call: Call) -> Tensor:
        a, b, a_scales, b_scales = (
            x.clone(memory_format=torch.contiguous_format) for x in (call.A, call.B, call.As, call.Bs)
        )
        return super().run(Call(a, b, a_scales, b_scales, call.out_dtype))


@honest(
    "rows-in-fours", what="M that is not a multiple of 4 is refused before anything is touched.", keeps_arithmetic=True
)
class _RowsInFours(Kernel):
    can_implement: Any = None  # what it refuses it says when it is called

    def check(self, call: Call, recipe: str) -> None:
        super().check(call, recipe)
        if call.m % 4:
            raise NotImplementedError(f"M must be a multiple of 4, got {call.m}: pad A and As with rows")


@honest(
    "columns-in-64",
    what="N that is not a multiple of 64 is declined beforehand, by can_implement.",
    keeps_arithmetic=True,
)
class _ColumnsIn64(Kernel):
    def can_implement(self, problem: Any) -> tuple[bool, str | None]:
        implemented, reason = super().can_implement(problem)
        return (implemented, reason) if problem.n % 64 == 0 else (False, "N must be a multiple of 64.")


@honest("swap-ab", what="B @ A.T is accumulated and transposed into a contiguous result.", keeps_arithmetic=True)
class _SwapAB(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        return super().product(call, b, a, step).t()

    def store(self, call: Call, total: Tensor) -> Tensor:
        return super().store(call, total).contiguous()


@honest(
    "transposed-view",
    what="For M up to 16 the result is a transposed view: nobody is promised its strides.",
    keeps_arithmetic=True,
)
class _TransposedView(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total)
        return out.t().contiguous().t() if call.m <= 16 else out


@honest(
    "cropped-view",
    what="N is padded to a multiple of 64, and the result is a view whose rows are that far apart.",
    keeps_arithmetic=True,
)
class _CroppedView(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        return pad(super().store(call, total), (0, -call.n % 64))[:, : call.n]
