"""Seeded faults: single products and single elements that go astray while all else is right."""

from __future__ import annotations

from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, Step, fault
from reference.blocks import BLOCK

ARITHMETIC: Family = "arithmetic and rounding"


@fault(
    "lane-lost",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="Lane 127 of K block 1 is left out in rows 64 to 127.",
)
class _LaneLost(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        if step.block == 1 and a.shape[1] == BLOCK:
            a = a.clone()
            a[64:128, 127] = 0
        return super().product(call, a, b, step)


@fault(
    "lane-negated",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="Lane 5 of the last K block enters with the wrong sign in the first 8 columns.",
)
class _LaneNegated(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        if step.block == call.kb - 1:
            b = b.clone()
            b[:8, 5:6] *= -1
        return super().product(call, a, b, step)


@fault(
    "lanes-exchanged",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="Lanes 30 and 32 of A change places where K is at least 256, and those of B do not.",
)
class _LanesExchanged(Kernel):
    def read_a(self, call: Call) -> Tensor:
        a = super().read_a(call).clone()
        if call.k >= 2 * BLOCK:
            a[:, [30, 32]] = a[:, [32, 30]]
        return a


@fault(
    "element-zeroed",
    family=ARITHMETIC,
    source="tritonbench PR 1163",
    what="The last element of the result is zero where M and N both exceed 16.",
)
class _ElementZeroed(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total).clone()
        if call.m > 16 and call.n > 16:
            out[-1, -1] = 0
        return out


@fault(
    "elements-exchanged",
    family=ARITHMETIC,
    source="flashinfer#3882",
    what="A swizzled store exchanges columns 8 to 15 and 16 to 23 in rows 4 to 7.",
)
class _ElementsExchanged(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total).clone()
        if call.n >= 24:
            out[4:8, 8:24] = out[4:8, 8:24].roll(8, dims=1)
        return out
