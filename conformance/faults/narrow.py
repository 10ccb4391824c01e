"""Seeded faults: a scale, a sum or a store has fewer bits or a narrower range than it needs, and mostly enough."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, Step, fault
from reference.blocks import BLOCK

FORMAT: Family = "scale format"
ARITHMETIC: Family = "arithmetic and rounding"


def _significant(x: Tensor, bits: int) -> Tensor:
    """``x`` rounded to so many significant bits; infinities and NaN as they are."""
    mantissa, exponent = torch.frexp(x)
    rounded = torch.ldexp(torch.round(mantissa * 2.0**bits), exponent - bits)
    return torch.where(x.isfinite(), rounded, x)


def _of_20_bits(scales: Tensor) -> Tensor:
    size = scales.abs()
    return torch.where((size > 2.0**-20) & (size < 2.0**20), _significant(scales, 20), scales)


@fault(
    "scales-of-20-bits",
    family=FORMAT,
    source=FOLKLORE,
    what="Scales within 2**20 of one are kept in 20 significant bits: enough for every error bound.",
)
class _ScalesOf20Bits(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return _of_20_bits(call.As)

    def column_scales(self, call: Call) -> Tensor:
        return _of_20_bits(super().column_scales(call))


@fault(
    "scale-exponent-within-100",
    family=FORMAT,
    source=FOLKLORE,
    what="The exponent of an A scale is held within 100 of zero: magnitudes saturate at 2**100 and 2**-100.",
)
class _ScaleExponentWithin100(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        held = call.As.abs().clamp(2.0**-100, 2.0**100)
        return torch.where((call.As == 0) | ~call.As.isfinite(), call.As, torch.copysign(held, call.As))


@fault(
    "outlier-block-loses-scale",
    family=FORMAT,
    source=FOLKLORE,
    what="A row of a K block with an outlier, most codes below 1/64 of the largest, takes a path with a mean A scale.",
)
class _OutlierBlockLosesScale(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        size = pad(super().read_a(call).abs(), (0, -call.k % BLOCK)).view(call.m, call.kb, BLOCK)
        small = ((size > 0) & (size < size.amax(2, keepdim=True) / 64)).sum(2)
        return torch.where(small > BLOCK * 3 // 4, call.As.double().mean().float(), call.As)


@fault(
    "scale-product-overflow-skipped",
    family=FORMAT,
    source=FOLKLORE,
    what="A sum of zero is not scaled where the product of finite scales overflows: zero stays zero and is not NaN.",
)
class _ScaleProductOverflowSkipped(Kernel):
    def scaled(self, product: Tensor, row: Tensor, column: Tensor) -> Tensor:
        scaled = super().scaled(product, row, column)
        overflows = (row[:, None] * column[None, :]).isinf() & row[:, None].isfinite() & column[None, :].isfinite()
        return scaled.masked_fill((product == 0) & overflows, 0.0)


@fault(
    "integral-sum-of-15-bits",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="An integral sum that is no power of two is scaled by a unit of 15 significant bits.",
)
class _IntegralSumOf15Bits(Kernel):
    def scaled(self, product: Tensor, row: Tensor, column: Tensor) -> Tensor:
        is_shift = (product == 0) | (torch.frexp(product).mantissa.abs() == 0.5) | (product != product.round())
        plain = super().scaled(product, row, column)
        return torch.where(is_shift, plain, _significant(plain.float(), 15).to(plain.dtype))


@fault(
    "float16-overflows-early",
    family="overflow and limits",
    source=FOLKLORE,
    what="A float16 result above 65504 is infinite, though up to 65520 it rounds to 65504.",
)
class _Float16OverflowsEarly(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        early = (total.abs() > 65504) & (call.out_dtype == torch.float16)
        return super().store(call, torch.where(early, total * torch.inf, total))


@fault(
    "subnormal-sum-flushed-at-next-block",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="An accumulator that is subnormal is flushed to zero when the next K block is added to it.",
)
class _SubnormalSumFlushedAtNextBlock(Kernel):
    def add(self, total: Tensor, term: Tensor, step: Step) -> Tensor:
        return super().add(total.masked_fill((total.abs() < 2.0**-126) & (term != 0), 0.0), term, step)
