"""Kernels that one plain call shows nothing of: wrong ones of one fault each, and right ones that vary legally."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from kernels import Reversed, scaled_blocks
from torch import Tensor


def exact_blocks(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> list[Tensor]:
    """The scaled product of every K block, rounded once: no library's order of summing changes a bit of it."""
    return scaled_blocks(A, B, As, Bs, sums=torch.float64)


class Counting:
    """Right. `product` and `spoil` may look at the number of the call, from 1."""

    name = "counting"

    def __init__(self) -> None:
        self.calls = 0

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        self.calls += 1
        return self.spoil(self.product(A, B, As, Bs).to(out_dtype))

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        return sum(exact_blocks(A, B, As, Bs), torch.zeros(()))

    def spoil(self, out: Tensor) -> Tensor:
        return out


class CountingModel(Counting):
    name = "counting-model"
    is_model = True


class WrongInCall(Counting):
    name = "wrong-in-call"

    def __init__(self, number: int = 7) -> None:
        super().__init__()
        self.number = number

    def spoil(self, out: Tensor) -> Tensor:
        if self.calls == self.number:
            out[-1, -1] += 1000 * out.abs().max() + 1
        return out


class RaisesInCallSeven(Counting):
    name = "raises-in-call-seven"

    def spoil(self, out: Tensor) -> Tensor:
        if self.calls == 7:
            raise RuntimeError("out of slots")
        return out


class RefusesInCallSeven(Counting):
    name = "refuses-in-call-seven"

    def spoil(self, out: Tensor) -> Tensor:
        if self.calls == 7:
            raise NotImplementedError("no tile for this shape")
        return out


class ShortInCallSeven(Counting):
    name = "short-in-call-seven"

    def spoil(self, out: Tensor) -> Tensor:
        return out[1:] if self.calls == 7 else out


class WritesOperandInCallSeven(Counting):
    name = "writes-operand-in-call-seven"

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        out = super().product(A, B, As, Bs)
        if self.calls == 7:
            As[0, 0] *= 2
        return out


class OrderVaries(Counting):
    """Right: every third call adds the K blocks backwards, within the bound."""

    name = "order-varies"

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        blocks = exact_blocks(A, B, As, Bs)
        return sum(blocks[:: 1 if self.calls % 3 else -1], torch.zeros(()))


class DeclaredOrderVaries(OrderVaries):
    name = "declared-order-varies"
    capabilities: ClassVar[dict[str, bool]] = {"determinism": True}


class ClaimedOrderVaries(OrderVaries):
    """A model, so that the bound judges each result; but its arithmetic has one order."""

    name = "claimed-order-varies"
    arithmetic = "sm90"
    is_model = True


class AdmittedOrderVaries(ClaimedOrderVaries):
    name = "admitted-order-varies"
    capabilities: ClassVar[dict[str, bool]] = {"determinism": False}


class OnceWrongAmongVarying(OrderVaries):
    """A third of its results differ from the first one, and are right; but that of call 30 lacks a block."""

    name = "once-wrong-among-varying"

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        out = super().product(A, B, As, Bs)
        return out - exact_blocks(A, B, As, Bs)[0] if self.calls == 30 else out


class OneBuffer:
    """Results of one form are views of one buffer, or of a few in turn."""

    name = "one-buffer"

    def __init__(self, buffers: int = 1) -> None:
        self.buffers, self.calls = buffers, 0
        self.kept: dict[object, Tensor] = {}

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        out = Reversed().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        self.calls += 1
        key = (*out.shape, out_dtype, self.calls % self.buffers)
        return self.kept.setdefault(key, torch.empty_like(out)).copy_(out)


class RingOfThree(OneBuffer):
    name = "ring-of-three"

    def __init__(self) -> None:
        super().__init__(3)


class OneBufferWrongInCallSeven(OneBuffer):
    """Wrong in the very memory that held the right result."""

    name = "one-buffer-wrong-in-call-seven"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        out = super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        return out.mul_(2) if self.calls == 7 else out


class Pool:
    """Right: results are parts of one buffer, each its own."""

    name = "pool"

    def __init__(self) -> None:
        self.pool, self.taken = torch.empty(0), 0

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        out = Reversed().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        if self.pool.dtype != out_dtype or self.taken + out.numel() > len(self.pool):
            self.pool, self.taken = out.new_empty(1 << 16), 0
        part = self.pool[self.taken : self.taken + out.numel()].view(out.shape)
        self.taken += out.numel()
        return part.copy_(out)


class WritesOldResult:
    """Changes a result that it returned before, in memory of that result alone."""

    name = "writes-old-result"

    def __init__(self) -> None:
        self.last: Tensor | None = None

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        if self.last is not None:
            self.last.zero_()
        self.last = Reversed().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        return self.last


class _Cached:
    """What a key was worked out for once is kept."""

    def __init__(self) -> None:
        self.kept: dict[object, Any] = {}

    def once(self, key: object, work: Callable[[], Any]) -> Any:
        if key not in self.kept:
            self.kept[key] = work()
        return self.kept[key]


class ScalesByPointer(_Cached):
    """B scales are copied once for each address, which holding the original keeps from being used for others."""

    name = "scales-by-pointer"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        _, scales = self.once((Bs.data_ptr(), Bs.shape), lambda: (Bs, Bs.clone()))
        return Reversed().apply_block_scaled_mm(A, B, As, scales, out_dtype=out_dtype)


class CodesByPointer(_Cached):
    name = "codes-by-pointer"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        _, codes = self.once((A.data_ptr(), A.shape), lambda: (A, A.clone()))
        return Reversed().apply_block_scaled_mm(codes, B, As, Bs, out_dtype=out_dtype)


class ScalesByCodes(_Cached):
    """B scales are copied anew where the codes of B are others, and not where the scales alone are."""

    name = "scales-by-codes"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        scales = self.once(bytes(B.cpu().view(torch.uint8).flatten().tolist()), Bs.clone)
        return Reversed().apply_block_scaled_mm(A, B, As, scales, out_dtype=out_dtype)


class CodesByScales(_Cached):
    """The codes of B are copied anew where its scales are others, and not where the codes alone are."""

    name = "codes-by-scales"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        codes = self.once(tuple(Bs.flatten().tolist()), B.clone)
        return Reversed().apply_block_scaled_mm(A, codes, As, Bs, out_dtype=out_dtype)


class ResultByShape(_Cached):
    name = "result-by-shape"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        key = A.shape, B.shape, out_dtype
        result: Tensor = self.once(key, lambda: Reversed().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype))
        return result.clone()


class RoundsAsFirst(_Cached):
    """Rounds to the dtype that a shape was first asked for in."""

    name = "rounds-as-first"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        first = self.once((A.shape, B.shape), lambda: out_dtype)
        return Reversed().apply_block_scaled_mm(A, B, As, Bs, out_dtype=first).to(out_dtype)


class ScalesByRecycledPointer(_Cached):
    """Copied scales are kept by an address that may belong to others by now."""

    name = "scales-by-recycled-pointer"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        scales = self.once((Bs.data_ptr(), Bs.shape), Bs.clone)
        return Reversed().apply_block_scaled_mm(A, B, As, scales, out_dtype=out_dtype)


class DirtyScratch:
    """Sums into scratch memory that a call clears only where the one before was of the same size."""

    name = "dirty-scratch"

    def __init__(self) -> None:
        self.scratch, self.last = torch.zeros(0), 0

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        m, n = A.shape[0], B.shape[0]
        if self.scratch.numel() < m * n:
            self.scratch = torch.zeros(m * n, device=A.device)
        elif self.last == m * n:
            self.scratch[: m * n] = 0
        self.last = m * n
        total = self.scratch[: m * n].view(m, n)
        total += sum(exact_blocks(A, B, As, Bs))
        return total.clone().to(out_dtype)


class SplitBySize(Counting):
    """Right: up to four rows are summed from the last K block to the first, more the other way."""

    name = "split-by-size"

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        blocks = exact_blocks(A, B, As, Bs)
        return sum(blocks[:: -1 if len(A) <= 4 else 1], torch.zeros(()))


class DeclaredSplitBySize(SplitBySize):
    name = "declared-split-by-size"
    capabilities: ClassVar[dict[str, bool]] = {"batch_invariance": True}


class OrderByPlace(Counting):
    """Right: the first row is summed the other way, however many there are."""

    name = "order-by-place"

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        blocks = exact_blocks(A, B, As, Bs)
        out = sum(blocks, torch.zeros(()))
        out[:1] = sum(blocks[::-1], torch.zeros(()))[:1]
        return out


class WrongAboveSixteen(Counting):
    name = "wrong-above-sixteen"

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        out = super().product(A, B, As, Bs)
        out[16:] *= 2
        return out


class RefusesOneRow(Counting):
    name = "refuses-one-row"

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        if len(A) == 1:
            raise NotImplementedError("no kernel for one row")
        return super().product(A, B, As, Bs)


class DeclinesOneRow(Counting):
    name = "declines-one-row"

    def can_implement(self, problem: Any) -> tuple[bool, str | None]:
        return problem.m != 1, "no kernel for one row"


class Refuses:
    name = "refuses"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        raise NotImplementedError("no tile for this shape")


class StridesByShape(Counting):
    name = "strides-by-shape"

    def __init__(self) -> None:
        super().__init__()
        self.strides: dict[torch.Size, tuple[int, ...]] = {}

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        strides = self.strides.setdefault(A.shape, A.stride())
        return super().product(A.as_strided(A.shape, strides), B, As, Bs)


class ColumnMajorForEver(Counting):
    name = "column-major-for-ever"

    def __init__(self) -> None:
        super().__init__()
        self.strides: dict[torch.Size, tuple[int, ...]] = {}

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        if A.stride(0) == 1:
            self.strides[A.shape] = A.stride()
        return super().product(A.as_strided(A.shape, self.strides.get(A.shape, A.stride())), B, As, Bs)


class IgnoresStrides(Counting):
    name = "ignores-strides"

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        return super().product(A.as_strided(A.shape, (A.shape[1], 1)), B, As, Bs)


class RefusesPadded(Counting):
    name = "refuses-padded"

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        if not A.is_contiguous():
            raise RuntimeError("A must be contiguous")
        return super().product(A, B, As, Bs)
