"""Seeded faults: what a kernel keeps from call to call, and for how long it stays right."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, fault

STATE: Family = "caching and stale state"
Shape = tuple[int, int, int]


@fault(
    "weights-by-tensor",
    family=STATE,
    source="DeepGEMM#444",
    what="The repacked B is attached to the tensor object, and is stale once other weights are copied into that.",
)
class _WeightsByTensor(Kernel):
    def read_b(self, call: Call) -> Tensor:
        attached = vars(call.B)
        if "repacked" not in attached:
            attached["repacked"] = super().read_b(call)
        return torch.as_tensor(attached["repacked"])


@fault(
    "ring-of-seven-buffers",
    family="output aliasing",
    source="DeepGEMM#444",
    what="Results live in a ring of seven buffers a shape and dtype: the eighth call overwrites the first one's.",
)
class _RingOfSevenBuffers(Kernel):
    def __init__(self) -> None:
        self.rings: dict[tuple[torch.Size, torch.dtype], list[Tensor]] = {}

    def store(self, call: Call, total: Tensor) -> Tensor:
        result = super().store(call, total)
        ring = self.rings.setdefault((result.shape, result.dtype), [])
        ring.append(ring.pop(0).copy_(result) if len(ring) == 7 else result)
        return ring[-1]


@fault(
    "fortieth-call-in-a-row",
    family="races",
    source="aiter#3261",
    what="A counter of launches on the same operands overflows at 40, and that call misses the last row.",
)
class _FortiethCallInARow(Kernel):
    run_of: tuple[int, int, int] = (0, 0, 0)
    calls = 0

    def store(self, call: Call, total: Tensor) -> Tensor:
        key = call.A.data_ptr(), call.B.data_ptr(), total.numel()
        self.calls, self.run_of = (self.calls + 1 if key == self.run_of else 1), key
        out = super().store(call, total)
        if self.calls == 40:
            out[-1:] = 0
        return out


@fault(
    "plan-flips-back",
    family=STATE,
    source=FOLKLORE,
    what="A shape that comes back after another one, three times, finds its plan evicted: the last row is lost.",
)
class _PlanFlipsBack(Kernel):
    def __init__(self) -> None:
        self.shapes: list[Shape] = []

    def store(self, call: Call, total: Tensor) -> Tensor:
        self.shapes = [*self.shapes[-6:], (call.m, call.n, call.k)]
        out, now = super().store(call, total), self.shapes[-1]
        if len(self.shapes) == 7 and {*self.shapes[::2]} == {now} and now not in self.shapes[1::2]:
            out[-1:] = 0
        return out
