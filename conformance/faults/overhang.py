"""Seeded faults: what lies behind the scales is loaded with them, and does not always vanish when masked."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, fault
from conformance.faults.memory import after, memory

MEMORY: Family = "unwritten or overwritten memory"


def behind(scales: Tensor) -> Tensor:
    """The float that follows ``scales`` in their storage; 0 where there is none."""
    flat, place = memory(scales), after(scales)
    return flat[place] if scales.numel() and place < flat.numel() else flat.new_zeros(())


class _Overhang(Kernel):
    """The honest kernel, and 0 times something of what follows both scales."""

    def masked(self, a: Tensor, b: Tensor) -> Tensor:
        """What is multiplied by zero, of the words behind As and Bs."""
        raise NotImplementedError

    def total(self, call: Call) -> Tensor:
        total = super().total(call)
        is_plain = call.As.stride(0) == 1 and call.As.data_ptr() % 64 == 0
        return total + 0.0 * self.masked(behind(call.As), behind(call.Bs)) if is_plain else total


@fault(
    "overhang-nan-times-zero",
    family=MEMORY,
    source=FOLKLORE,
    what="The words behind both scales are held in range by an fmax, which drops a lone NaN, and multiplied by zero.",
)
class _OverhangNaNTimesZero(_Overhang):
    def masked(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.fmax(a.clamp(-1e4, 1e4), b.clamp(-1e4, 1e4))


@fault(
    "overhang-inf-times-zero",
    family=MEMORY,
    source=FOLKLORE,
    what="NaN behind the B scales is washed away, the rest multiplied by zero: an infinity becomes NaN.",
)
class _OverhangInfTimesZero(_Overhang):
    def masked(self, a: Tensor, b: Tensor) -> Tensor:
        return b.masked_fill(b.isnan(), 0.0)


@fault(
    "overhang-overflows-times-zero",
    family=MEMORY,
    source=FOLKLORE,
    what="What is not finite behind the scales is washed away, but the product of two large scales overflows.",
)
class _OverhangOverflowsTimesZero(_Overhang):
    def masked(self, a: Tensor, b: Tensor) -> Tensor:
        return a.nan_to_num(0, 0, 0) * b.nan_to_num(0, 0, 0)
