"""Seeded faults: inputs, or the memory around them, are changed."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import Call, Family, Kernel, fault
from conformance.faults.memory import after, memory
from reference.blocks import BLOCK

MUTATION: Family = "input mutation"


@fault(
    "b-scale-edited-in-place",
    family=MUTATION,
    source="cutlass#3596",
    what="With more than one M tile the B scales are multiplied by the first A scale in place, after their last use.",
)
class _BScaleEditedInPlace(Kernel):
    def run(self, call: Call) -> Tensor:
        out = super().run(call)
        if call.m > BLOCK and call.kb:
            call.Bs.mul_(call.As[0])
        return out


@fault(
    "a-zeroed-after-use",
    family=MUTATION,
    source="sglang#33106",
    what="A is a workspace to the kernel, which clears its last row for the next call.",
)
class _AZeroedAfterUse(Kernel):
    def run(self, call: Call) -> Tensor:
        out = super().run(call)
        call.A.view(torch.uint8)[-1:] = 0
        return out


@fault(
    "negative-zero-rewritten",
    family=MUTATION,
    source="llm-scaler#569",
    what="The codes 0x80 of B are replaced by 0x00 in place, which changes bytes and no value.",
)
class _NegativeZeroRewritten(Kernel):
    def read_b(self, call: Call) -> Tensor:
        codes = call.B.view(torch.uint8)
        codes.masked_fill_(codes == 0x80, 0)
        return super().read_b(call)


@fault(
    "scales-sanitised-in-place",
    family=MUTATION,
    source="ao#4713",
    what="A scales of zero are replaced by 1e-12 in place.",
)
class _ScalesSanitisedInPlace(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        call.As.masked_fill_(call.As == 0, 1e-12)
        return super().row_scales(call)


@fault(
    "row-padding-cleared",
    family=MUTATION,
    source="vllm#55534",
    what="The padding between rows of A is cleared, up to the next multiple of 128 lanes.",
)
class _RowPaddingCleared(Kernel):
    def run(self, call: Call) -> Tensor:
        width = min(call.A.stride(0) - call.k, -call.k % BLOCK)
        if call.A.stride(1) == 1 and width > 0 and call.m > 1:
            start = call.A.storage_offset() + call.k
            memory(call.A).as_strided((call.m - 1, width), (call.A.stride(0), 1), start).zero_()
        return super().run(call)


@fault(
    "writes-past-b-scales",
    family=MUTATION,
    source="TensorRT-LLM#18128",
    what="One float past the end of the B scales is set to one, where their storage goes on.",
)
class _WritesPastBScales(Kernel):
    def run(self, call: Call) -> Tensor:
        if call.Bs.numel():
            memory(call.Bs)[after(call.Bs) :][:1] = 1.0
        return super().run(call)
