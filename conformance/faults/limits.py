"""Seeded faults: wrong past a size. Where the field's limit is out of reach of a quick call a lower one stands in."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import Call, Family, Kernel, Step, fault
from conformance.faults.memory import peek

LIMITS: Family = "overflow and limits"
OUT_LIMIT = 1 << 22
"""Elements of the result past which an index wraps; 2**31 in the reports."""
A_LIMIT = 1 << 24
"""Bytes of A past which an address wraps; 2**31 in the reports."""
GRID_LIMIT = 65535
"""The real limit of the second grid axis."""


@fault(
    "scale-index-wraps-at-64",
    family=LIMITS,
    source="ao#4209",
    what="The K block index of the B scales has six bits, so blocks from the 65th on take the first ones' again.",
)
class _ScaleIndexWrapsAt64(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        return super().column_scales(call)[:, torch.arange(call.kb, device=call.Bs.device) % 64]


@fault(
    "n-block-index-of-8-bits",
    family=LIMITS,
    source="DeepGEMM#226",
    what="The N block index has eight bits, so columns from 32768 on take the scales of the first ones.",
)
class _NBlockIndexOf8Bits(Kernel):
    def column_block(self, call: Call) -> Tensor:
        return super().column_block(call) % 256


@fault(
    "k-offset-of-15-bits",
    family=LIMITS,
    source="DeepGEMM#110",
    what="The K offset into A is held at 32768 lanes (2**31 bytes in the report): further blocks read that one again.",
)
class _KOffsetOf15Bits(Kernel):
    def read_a(self, call: Call) -> Tensor:
        lanes = torch.arange(call.k, device=call.A.device)
        return super().read_a(call)[:, torch.where(lanes < 1 << 15, lanes, lanes % 128 + (1 << 15) - 128)]


@fault(
    "out-index-wraps",
    family=LIMITS,
    source="vllm#42173",
    what="The offset into the result wraps at 2**22 elements (2**31 in the report): later rows land on the first.",
)
class _OutIndexWraps(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out, flat = call.unwritten(), super().store(call, total).reshape(-1)
        out.view(-1)[:OUT_LIMIT] = flat[:OUT_LIMIT]
        for start in range(OUT_LIMIT, flat.numel(), OUT_LIMIT):
            wrapped = flat[start : start + OUT_LIMIT]
            out.view(-1)[: wrapped.numel()] = wrapped
        return out


@fault(
    "a-address-wraps",
    family=LIMITS,
    source="DeepGEMM#226",
    what="The byte offset into A wraps at 2**24 (2**31 in the report), so rows beyond read the first ones again.",
)
class _AAddressWraps(Kernel):
    def read_a(self, call: Call) -> Tensor:
        return self.decode(peek(call.A, call.A.stride(), wrap=A_LIMIT) if call.A.numel() else call.A)


@fault(
    "large-result-with-odd-m",
    family=LIMITS,
    source="aiter#5643",
    what="Past 2**20 elements (2**31 bytes in the report) an odd M shifts the last row by one column.",
)
class _LargeResultWithOddM(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total).clone()
        if call.m % 2 and out.numel() > 1 << 20:
            out[-1] = out[-1].roll(1)
        return out


@fault(
    "grid-limit-on-rows",
    family=LIMITS,
    source="vllm#45255",
    what="One block per row is launched on the second grid axis: rows from 65535 on stay zero and success is returned.",
)
class _GridLimitOnRows(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total).clone()
        out[GRID_LIMIT:] = 0
        return out


@fault(
    "k-blocks-held-at-256",
    family=LIMITS,
    source="ao#4209",
    what="At most 256 K blocks are walked; the rest of a longer K is left out.",
)
class _KBlocksHeldAt256(Kernel):
    def steps(self, call: Call) -> list[Step]:
        return super().steps(call)[:256]
