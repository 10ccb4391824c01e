"""Seeded faults: results that share memory with each other, with an input or with themselves."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import Call, Family, Kernel, fault

ALIASING: Family = "output aliasing"
Shape = tuple[int, int, int]


def _shape(call: Call) -> Shape:
    return call.m, call.n, call.k


@fault(
    "one-buffer-per-shape",
    family=ALIASING,
    source="TransformerEngine#3171",
    what="Calls of one shape and dtype return the same buffer, so a later call changes an earlier result.",
)
class _OneBufferPerShape(Kernel):
    def __init__(self) -> None:
        self.buffers: dict[tuple[Shape, torch.dtype], Tensor] = {}

    def store(self, call: Call, total: Tensor) -> Tensor:
        return self.buffers.setdefault((_shape(call), call.out_dtype), call.unwritten()).copy_(total)


@fault(
    "ring-of-two-buffers",
    family=ALIASING,
    source="DeepGEMM#444",
    what="Results alternate between two halves of one workspace, so the third call overwrites the first result.",
)
class _RingOfTwoBuffers(Kernel):
    def __init__(self) -> None:
        self.ring: dict[tuple[Shape, torch.dtype], list[Tensor]] = {}

    def store(self, call: Call, total: Tensor) -> Tensor:
        ring = self.ring.setdefault((_shape(call), call.out_dtype), [call.unwritten(), call.unwritten()])
        ring.reverse()
        return ring[0].copy_(total)


@fault(
    "result-in-memory-of-a",
    family=ALIASING,
    source="flashinfer#4685",
    what="Where the result fits into a packed A it is stored there and returned as a view of it.",
)
class _ResultInMemoryOfA(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total)
        size, start = out.numel() * out.element_size(), call.A.storage_offset()
        if not call.A.is_contiguous() or size > call.A.numel() or start % out.element_size():
            return out
        return call.A.view(torch.uint8).view(-1)[:size].view(out.dtype).view(out.shape).copy_(out)


@fault(
    "equal-rows-expanded",
    family=ALIASING,
    source="kernels-community#846",
    what="Where all rows of the result are equal one is stored and returned with stride 0.",
)
class _EqualRowsExpanded(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total)
        if out.is_cuda and torch.cuda.is_current_stream_capturing():
            return out
        bits = total.contiguous().view(torch.int32)
        return out[:1].expand(call.m, call.n) if call.m > 1 and bool((bits == bits[:1]).all()) else out
