"""Seeded faults: scales that arrive as float32 and are used as something narrower."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, fault

FORMAT: Family = "scale format"


def _without_mantissa(scales: Tensor) -> Tensor:
    return (scales.contiguous().view(torch.int32) & ~0x7FFFFF).view(torch.float32)


@fault(
    "ue8m0-rounded-up",
    family=FORMAT,
    source="transformers#47030",
    what="Scales are rounded up to a power of two and the payload is not requantised.",
)
class _UE8M0RoundedUp(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        down = _without_mantissa(call.As)
        return torch.where(down == call.As, call.As, down * 2)


@fault(
    "ue8m0-mantissa-dropped",
    family=FORMAT,
    source="DeepGEMM#112",
    what="Only the exponent bits of the float32 B scales are kept.",
)
class _UE8M0MantissaDropped(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        return _without_mantissa(super().column_scales(call))


@fault(
    "scale-bytes-read-as-packed",
    family=FORMAT,
    source="DeepGEMM#417",
    what="The bytes of the float32 B scales are read as packed UE8M0: each scale is the power of its top byte.",
)
class _ScaleBytesReadAsPacked(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        top = super().column_scales(call).contiguous().view(torch.int32) >> 24 & 0xFF
        return torch.exp2(top.float() - 127)


@fault(
    "bf16-scales",
    family=FORMAT,
    source="DeepGEMM#112",
    what="The A scales pass through bfloat16 and keep 8 significant bits.",
)
class _BF16Scales(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return call.As.bfloat16().float()


@fault(
    "fp16-scales",
    family=FORMAT,
    source="flashinfer#2595",
    what="The B scales pass through float16: 11 bits are kept, those under 6e-8 vanish, those over 65504 are inf.",
)
class _FP16Scales(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        return super().column_scales(call).half().float()


@fault(
    "tf32-scale-product",
    family=FORMAT,
    source="vllm#51372",
    what="The product of both scales is formed by a unit that keeps 11 significant bits.",
)
class _TF32ScaleProduct(Kernel):
    def scaled(self, product: Tensor, row: Tensor, column: Tensor) -> Tensor:
        factor = row[:, None] * column[None, :]
        return product * (factor.contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32)


@fault(
    "odd-mantissa-is-nan",
    family=FORMAT,
    source="vllm#51372",
    what="A B scale that uses the lowest bit of its mantissa is taken for an invalid encoding and gives NaN.",
)
class _OddMantissaIsNaN(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        scales = super().column_scales(call).contiguous()
        return scales.masked_fill((scales.view(torch.int32) & 1).bool(), torch.nan)


@fault(
    "scale-sign-lost",
    family=FORMAT,
    source="vllm#37804",
    what="The scale format has no sign, so negative scales are used as positive ones.",
)
class _ScaleSignLost(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return call.As.abs()


@fault(
    "scale-held-above-epsilon",
    family=FORMAT,
    source=FOLKLORE,
    what="Scales of magnitude below 1e-10 become 1e-10, as quantisers hold the amax.",
)
class _ScaleHeldAboveEpsilon(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return torch.where(call.As.abs() < 1e-10, torch.full_like(call.As, 1e-10), call.As)


@fault(
    "scale-exponent-saturates",
    family=FORMAT,
    source=FOLKLORE,
    what="The exponent of a B scale has six bits: magnitudes saturate at 2**31 and 2**-31.",
)
class _ScaleExponentSaturates(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        scales = super().column_scales(call)
        held = scales.abs().clamp(2.0**-31, 2.0**31)
        return torch.where(scales == 0, scales, torch.copysign(held, scales))
