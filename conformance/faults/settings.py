"""Seeded faults: right on one platform, mode or setting and wrong on another."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, fault

PLATFORM: Family = "platform and contract"


@fault(
    "tf32-left-on",
    family=PLATFORM,
    source=FOLKLORE,
    what="TF32 is allowed for the whole process and stays so.",
)
class _TF32LeftOn(Kernel):
    def run(self, call: Call) -> Tensor:
        torch.backends.cuda.matmul.allow_tf32 = True
        return super().run(call)


@fault(
    "compiled-differs",
    family=PLATFORM,
    source="pytorch#193802",
    needs="compile",
    what="Compiled, the call lowers the B scale as one per K block; eager is right.",
)
class _CompiledDiffers(Kernel):
    def column_block(self, call: Call) -> Tensor:
        block = super().column_block(call)
        return block * 0 if torch.compiler.is_compiling() else block


@fault(
    "scales-rounded-on-cuda",
    family=PLATFORM,
    source="DeepGEMM#112",
    needs="cuda",
    what="On CUDA the A scales lose their mantissa; on the CPU they keep it.",
)
class _ScalesRoundedOnCuda(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return torch.exp2(call.As.abs().log2().round()) if call.As.is_cuda else call.As
