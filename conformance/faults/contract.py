"""Seeded faults: values may be right, and the promise around them is broken."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, fault

CONTRACT: Family = "platform and contract"


@fault(
    "float32-result",
    family=CONTRACT,
    source="flashinfer#3103",
    what="The float32 accumulator is returned, whatever out_dtype asks for.",
)
class _Float32Result(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        return total


@fault(
    "empty-result-shape",
    family=CONTRACT,
    source="flashinfer#4734",
    what="For M = 0 the early return is torch.empty(0): the shape and the dtype are lost.",
)
class _EmptyResultShape(Kernel):
    def run(self, call: Call) -> Tensor:
        return super().run(call) if call.m else torch.empty(0, device=call.A.device)


@fault(
    "rng-advanced",
    family=CONTRACT,
    source=FOLKLORE,
    what="The tuner fills a tensor with random numbers and so advances torch's global generator.",
)
class _RNGAdvanced(Kernel):
    def run(self, call: Call) -> Tensor:
        torch.rand(1, device=call.A.device)
        return super().run(call)


@fault(
    "default-dtype-changed",
    family=CONTRACT,
    source=FOLKLORE,
    what="The default dtype is set to that of the result and not restored.",
)
class _DefaultDtypeChanged(Kernel):
    def run(self, call: Call) -> Tensor:
        out = super().run(call)
        torch.set_default_dtype(call.out_dtype)
        return out
