"""Seeded faults: FP8 codes that are decoded or multiplied wrongly."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, Step, fault

SPECIAL: Family = "special values"
CODE_A, CODE_B = 0x4B, 0x93
"""The pair of codes whose product the multiplier of `one-code-pair` gets wrong."""


@fault(
    "negative-zero-decoded-wrongly",
    family=SPECIAL,
    source="llm-scaler#569",
    what="The code 0x80 is decoded by shifting bits as if it were normal: -2**-7 and not -0.",
)
class _NegativeZeroDecodedWrongly(Kernel):
    def decode(self, x: Tensor) -> Tensor:
        return super().decode(x).masked_fill(x.view(torch.uint8) == 0x80, -(2.0**-7))


@fault(
    "nan-code-is-480",
    family=SPECIAL,
    source="llm-scaler#569",
    what="The codes 0x7F and 0xFF are decoded by the rule of normal numbers, as 480 and -480.",
)
class _NaNCodeIs480(Kernel):
    def decode(self, x: Tensor) -> Tensor:
        value = super().decode(x)
        negative = x.view(torch.uint8) == 0xFF
        return torch.where(value.isnan(), torch.where(negative, -480.0, 480.0), value)


@fault(
    "one-code-pair",
    family=SPECIAL,
    source="llm-scaler#569",
    what="One of the 65536 pairs of codes, 0x4B by 0x93, gives a product 2**-7 too large in magnitude.",
)
class _OneCodePair(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        hits_a = (call.A[:, step.lanes].view(torch.uint8) == CODE_A).float()
        hits_b = (call.B[:, step.lanes].view(torch.uint8) == CODE_B).float()
        return super().product(call, a, b, step) - (hits_a @ hits_b.t()) * 2.0**-7


@fault(
    "subnormal-codes-flushed",
    family=SPECIAL,
    source="flashinfer#4685",
    what="The codes of B below 2**-6 in magnitude are read as zero.",
)
class _SubnormalCodesFlushed(Kernel):
    def read_b(self, call: Call) -> Tensor:
        b = super().read_b(call)
        return b.masked_fill(b.abs() < 2.0**-6, 0.0)


@fault(
    "codes-held-at-240",
    family=SPECIAL,
    source=FOLKLORE,
    what="The limit of the FNUZ format is applied: magnitudes of A above 240 are read as 240.",
)
class _CodesHeldAt240(Kernel):
    def read_a(self, call: Call) -> Tensor:
        return super().read_a(call).clamp(-240.0, 240.0)
