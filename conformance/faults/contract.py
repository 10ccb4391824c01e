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
    "transposed-result",
    family=CONTRACT,
    source="flashinfer#3103",
    what="For M up to 16 operands are swapped and the result is returned as a transposed view.",
)
class _TransposedResult(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total)
        return out.t().contiguous().t() if call.m <= 16 else out


@fault(
    "cropped-result",
    family=CONTRACT,
    source="aiter#2466",
    what="N is padded to a multiple of 64, and the result is returned as a view whose rows are that far apart.",
)
class _CroppedResult(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        padding = torch.nn.functional.pad(super().store(call, total), (0, -call.n % 64))
        return padding[:, : call.n]


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
