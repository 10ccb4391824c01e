"""Kernels that are right in one plain call and take memory for what it is not: each wrong in its own layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import kernels
import torch
from torch import Tensor


def taken_for(x: Tensor, strides: Sequence[int], *, offset: int | None = None) -> Tensor:
    """What a kernel reads that takes ``x`` to have these ``strides``, ``offset`` elements into its storage."""
    return torch.as_strided(x, x.shape, strides, x.storage_offset() if offset is None else offset)


def behind(x: Tensor) -> Tensor:
    """The four elements behind the last one, as float32."""
    last = x.storage_offset() + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    return torch.as_strided(x, (4,), (1,), last + 1).float()


def product(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype) -> Tensor:
    return kernels.DequantiseFirst().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)


class Misreading:
    """Right but for how `read` takes the operands."""

    name = "misreading"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        return product(*self.read(A, B, As, Bs), out_dtype)

    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        raise NotImplementedError


class ColumnMajorAs(Misreading):
    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        return A, B, taken_for(As, (1, As.shape[0])), Bs


class UnpaddedAs(Misreading):
    """Knows both orders of the A scales, and no leading dimension."""

    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        return A, B, taken_for(As, (1, As.shape[0])) if As.stride(0) == 1 else As, Bs


class RowMajorBs(Misreading):
    """Reads the leading dimension of the B scales and takes them to be rows."""

    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        return A, B, As, taken_for(Bs, (Bs.stride(0), 1))


class UnpaddedBs(Misreading):
    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        return A, B, As, taken_for(Bs, (Bs.shape[1], 1)) if Bs.stride(1) == 1 else Bs


class UnpaddedA(Misreading):
    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        return taken_for(A, (A.shape[1], 1)) if A.stride(1) == 1 else A, B, As, Bs


class UnpaddedB(Misreading):
    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        return A, taken_for(B, (B.shape[1], 1)) if B.stride(1) == 1 else B, As, Bs


class NarrowlyPadded(Misreading):
    """Takes leading dimensions for no more than the next multiple of 64."""

    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        limit = -(-A.shape[1] // 64) * 64
        a, b = (taken_for(x, (min(x.stride(0), limit), x.stride(1))) for x in (A, B))
        return a, b, As, Bs


class RowMajorA(Misreading):
    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        return taken_for(A, (A.stride(0), 1)), B, As, Bs


class RowMajorB(Misreading):
    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        return A, taken_for(B, (B.stride(0), 1)), As, Bs


class DenseScales(Misreading):
    """Knows one leading dimension of scales and no step beside it."""

    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        return A, B, self._dense(As), self._dense(Bs)

    def _dense(self, x: Tensor) -> Tensor:
        down, right = x.stride()
        return x if down == 0 else taken_for(x, (1, right) if down < right else (down, 1))


class StrideZeroForOne(Misreading):
    """Takes a stride of 0, as a scale for all rows has it, for one of 1."""

    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        return A, B, taken_for(As, (max(As.stride(0), 1), As.stride(1))), Bs


class RoundsDown(Misreading):
    """Loads from addresses rounded down to multiples of ``unit`` bytes."""

    unit = 128

    def read(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, ...]:
        return tuple(self._down(x) for x in (A, B, As, Bs))

    def _down(self, x: Tensor) -> Tensor:
        elements = self.unit // x.element_size()
        return taken_for(x, x.stride(), offset=x.storage_offset() // elements * elements)


class RoundsDownTo16(RoundsDown):
    unit = 16


class ReadsBehind:
    """Adds what lies behind an operand, masked out by a product with `weight`."""

    name = "reads-behind"
    weight = 0.0

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        noise = sum((self.wash(behind(x)).sum() * self.weight for x in self.touched(A, B, As, Bs)), torch.zeros(()))
        return (product(A, B, As, Bs, torch.float32) + noise).to(out_dtype)

    def touched(self, *operands: Tensor) -> Sequence[Tensor]:
        return operands

    def wash(self, x: Tensor) -> Tensor:
        return x


class ReadsCodesBehind(ReadsBehind):
    def touched(self, *operands: Tensor) -> Sequence[Tensor]:
        return operands[:2]


class WashesNaN(ReadsBehind):
    def wash(self, x: Tensor) -> Tensor:
        return torch.where(x.isnan(), 0, x)


class WashesAllButHuge(ReadsBehind):
    """Masks with a number that is almost zero."""

    weight = 1e-30

    def wash(self, x: Tensor) -> Tensor:
        return torch.where(x.isfinite(), x, 0)


class Into:
    """Right, into `out` where there is one, which it returns."""

    name = "into"
    capabilities: ClassVar[dict[str, bool]] = {"out": True, "strided_operands": True}

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, out: Tensor | None = None
    ) -> Tensor | None:
        result = product(A, B, As, Bs, out_dtype)
        return result if out is None else self.write(result, out)

    def write(self, result: Tensor, out: Tensor) -> Tensor | None:
        return out.copy_(result)


class IntoSilently(Into):
    """Returns nothing, since the caller has it."""

    def write(self, result: Tensor, out: Tensor) -> Tensor | None:
        out.copy_(result)
        return None


class IgnoresOut(Into):
    def write(self, result: Tensor, out: Tensor) -> Tensor | None:
        return result


class WritesAndReturnsAnother(Into):
    def write(self, result: Tensor, out: Tensor) -> Tensor | None:
        out.copy_(result)
        return result


class ReturnsAView(Into):
    def write(self, result: Tensor, out: Tensor) -> Tensor | None:
        return out.copy_(result).t()


class ReturnsTrue(Into):
    def write(self, result: Tensor, out: Tensor) -> Tensor | None:
        out.copy_(result)
        return True  # type: ignore[return-value]


class AddsToOut(Into):
    """beta is 0, and multiplied all the same."""

    def write(self, result: Tensor, out: Tensor) -> Tensor | None:
        return out.mul_(0).add_(result)


class ForgetsTheLast(Into):
    def write(self, result: Tensor, out: Tensor) -> Tensor | None:
        out.view(-1)[:-1].copy_(result.view(-1)[:-1])
        return out


class UnpaddedOut(Into):
    def write(self, result: Tensor, out: Tensor) -> Tensor | None:
        taken_for(out, (out.shape[1], 1)).copy_(result)
        return out


class WholeLines(Into):
    """Clears the padding of `out` together with its rows."""

    def write(self, result: Tensor, out: Tensor) -> Tensor | None:
        torch.as_strided(out, (out.shape[0], out.stride(0)), (out.stride(0), 1), out.storage_offset()).zero_()
        return out.copy_(result)


class Recycles:
    """Computes the right result, drops it and returns the memory that it gets then, written but for the last row."""

    name = "recycles"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        rows = product(A, B, As, Bs, out_dtype)[:-1].clone()
        for _ in range(4):
            product(A, B, As, Bs, out_dtype)
        out = torch.empty(A.shape[0], B.shape[0], dtype=out_dtype, device=A.device)
        out[:-1] = rows
        return out


class Expands:
    """Returns its first row for all."""

    name = "expands"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        return product(A, B, As, Bs, out_dtype)[:1].expand(A.shape[0], -1)


class Slides:
    """Returns rows that begin one element after one another."""

    name = "slides"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        return product(A, B, As, Bs, out_dtype).as_strided((A.shape[0], B.shape[0]), (1, 1))


class OneForAll:
    """Returns its first element for all."""

    name = "one-for-all"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        return product(A, B, As, Bs, out_dtype)[:1, :1].expand(A.shape[0], B.shape[0])


class ByColumn:
    """Right, and column-major."""

    name = "by-column"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        return product(A, B, As, Bs, out_dtype).t().contiguous().t()
