"""Seeded faults: zeros, subnormals, infinities and NaN in operands, scales and results."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, Step, fault
from reference.blocks import BLOCK

SPECIAL: Family = "special values"


@fault(
    "nan-replaced-by-zero",
    family=SPECIAL,
    source="sglang#33106",
    what="NaN in A is replaced by zero, which hides rows that were never initialised.",
)
class _NaNReplacedByZero(Kernel):
    def read_a(self, call: Call) -> Tensor:
        a = super().read_a(call)
        return a.masked_fill(a.isnan(), 0.0)


@fault(
    "nan-lost-in-clamp",
    family=SPECIAL,
    source="sglang#32843",
    what="The store clamps to the finite range with an fmax that prefers numbers, so NaN becomes the lowest value.",
)
class _NaNLostInClamp(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        return super().store(call, total.masked_fill(total.isnan(), torch.finfo(call.out_dtype).min))


@fault(
    "zero-scale-is-inf",
    family=SPECIAL,
    source="TransformerEngine#737",
    what="The B scale is handed over inverted and inverted again, so a zero becomes infinite.",
)
class _ZeroScaleIsInf(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        scales = super().column_scales(call)
        return scales.masked_fill(scales == 0, torch.inf)


@fault(
    "subnormal-scale-flushed",
    family=SPECIAL,
    source="TransformerEngine#737",
    what="A scales below 2**-126 are flushed to zero.",
)
class _SubnormalScaleFlushed(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return call.As.masked_fill(call.As.abs() < 2.0**-126, 0.0)


@fault(
    "running-sum-rescaled",
    family=SPECIAL,
    source="flashinfer#2595",
    what="The sum is kept in units of the current scale and rescaled by ratios, which tiny scales turn into NaN.",
)
class _RunningSumRescaled(Kernel):
    def total(self, call: Call) -> Tensor:
        a, b = self.read_a(call), self.read_b(call)
        by_row, by_column = self.row_scales(call), self.column_scales(call)
        total, unit = call.zeros(), call.zeros() + 1
        for step in self.steps(call):
            now = by_row[:, step.block, None] * by_column[None, :, step.block]
            total = total * (unit / now) + self.product(call, a[:, step.lanes], b[:, step.lanes], step)
            unit = now
        return total * unit


@fault(
    "zero-block-is-nan",
    family=SPECIAL,
    source="ao#4713",
    what="Each row of a K block of A is normalised by its largest magnitude first: a row of zeros is 0 / 0.",
)
class _ZeroBlockIsNaN(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        largest = torch.exp2(a.abs().amax(1, keepdim=True).log2().floor())
        return super().product(call, a / largest, b, step) * largest


@fault(
    "single-row-nan",
    family=SPECIAL,
    source="aiter#4032",
    what="The path for M = 1 reads K in chunks of 512 and fills the last one up with the code 0x7F, against zeros.",
)
class _SingleRowNaN(Kernel):
    def total(self, call: Call) -> Tensor:
        total = super().total(call)
        return total + torch.nan if call.m == 1 and call.k % (4 * BLOCK) else total


@fault(
    "infinity-becomes-largest",
    family=SPECIAL,
    source=FOLKLORE,
    what="The store saturates: what overflows float16, or is infinite, becomes the largest finite value.",
)
class _InfinityBecomesLargest(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        limit = torch.finfo(call.out_dtype).max
        return super().store(call, total.clamp(-limit, limit))
