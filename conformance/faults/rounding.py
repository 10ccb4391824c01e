"""Seeded faults: right operands and scales, summed or rounded wrongly, or a lane that goes astray."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, Step, fault
from reference.blocks import BLOCK

ARITHMETIC: Family = "arithmetic and rounding"


def _cut(x: Tensor, bits: int) -> Tensor:
    """``x`` with the ``bits`` lowest bits of the float32 mantissa cleared; infinities and NaN as they are."""
    cut = (x.contiguous().view(torch.int32) & (-1 << bits)).view(torch.float32)
    return torch.where(x.isfinite(), cut, x)


@fault(
    "no-promotion",
    family=ARITHMETIC,
    source="DeepGEMM#37",
    what="The running sum over all K blocks stays in the tensor core, where it keeps 14 bits, and is never promoted.",
)
class _NoPromotion(Kernel):
    def add(self, total: Tensor, term: Tensor, step: Step) -> Tensor:
        return _cut(total + term, 10)


@fault(
    "bf16-accumulator",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="The accumulator is written back as bfloat16 after every eighth K block.",
)
class _BF16Accumulator(Kernel):
    def add(self, total: Tensor, term: Tensor, step: Step) -> Tensor:
        total = total + term
        return total.bfloat16().float() if step.block % 8 == 7 else total


@fault(
    "fp16-accumulator",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="Scaled partial products are accumulated over K in float16.",
)
class _FP16Accumulator(Kernel):
    def add(self, total: Tensor, term: Tensor, step: Step) -> Tensor:
        return (total.half() + term.half()).float()


@fault(
    "bf16-partial-product",
    family=ARITHMETIC,
    source="DeepGEMM#37",
    what="Each partial product is rounded to bfloat16 before it is scaled.",
)
class _BF16PartialProduct(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        return super().product(call, a, b, step).bfloat16().float()


@fault(
    "dequantised-in-bf16",
    family=ARITHMETIC,
    source="MSLK#371",
    what="Operands are multiplied by their scales into bfloat16, and the matmul runs on those.",
)
class _DequantisedInBF16(Kernel):
    def total(self, call: Call) -> Tensor:
        by_row = self.row_scales(call).repeat_interleave(BLOCK, dim=1)[:, : call.k]
        by_column = self.column_scales(call).repeat_interleave(BLOCK, dim=1)[:, : call.k]
        a, b = (self.read_a(call) * by_row).bfloat16(), (self.read_b(call) * by_column).bfloat16()
        return a.float() @ b.float().t()


@fault(
    "bf16-store-truncates",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="The bfloat16 result is the upper half of the float32 one, cut and not rounded.",
)
class _BF16StoreTruncates(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        return super().store(call, _cut(total, 16) if call.out_dtype == torch.bfloat16 else total)


@fault(
    "bf16-ties-away",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="The bfloat16 store adds half a unit and cuts, so ties go away from zero and not to even.",
)
class _BF16TiesAway(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        if call.out_dtype != torch.bfloat16:
            return super().store(call, total)
        up = (total.contiguous().view(torch.int32) + 0x8000).view(torch.float32)
        return super().store(call, torch.where(total.isfinite(), _cut(up, 16), total))


@fault(
    "result-through-bf16",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="The epilogue knows bfloat16 alone and casts its result to the float16 or float32 asked for.",
)
class _ResultThroughBF16(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        return super().store(call, total.bfloat16())


@fault(
    "double-rounding",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="The bfloat16 result is rounded twice: to 11 significant bits first, and to 8 then.",
)
class _DoubleRounding(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        mantissa, exponent = torch.frexp(total)
        once = torch.ldexp(torch.round(mantissa * 2048), exponent - 11)
        rounds = call.out_dtype == torch.bfloat16
        return super().store(call, torch.where(total.isfinite(), once, total) if rounds else total)


@fault(
    "gain-in-one-tile",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="The second 128 columns of the first 128 rows are 0.4 percent too large.",
)
class _GainInOneTile(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        total = total.clone()
        total[:BLOCK, BLOCK : 2 * BLOCK] *= 1.00390625
        return super().store(call, total)
