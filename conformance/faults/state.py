"""Seeded faults: state that outlives the call it was right for."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import Call, Family, Kernel, Step, fault
from conformance.faults.memory import peek

STATE: Family = "caching and stale state"
Shape = tuple[int, int, int]


def _shape(call: Call) -> Shape:
    return call.m, call.n, call.k


@fault(
    "result-by-pointer",
    family=STATE,
    source="DeepGEMM#451",
    what="A flag says that the work for these pointers and this shape is done, so the first result is returned again.",
)
class _ResultByPointer(Kernel):
    def __init__(self) -> None:
        self.done: dict[tuple[Shape, int, int, torch.dtype], Tensor] = {}

    def run(self, call: Call) -> Tensor:
        key = (_shape(call), call.A.data_ptr(), call.B.data_ptr(), call.out_dtype)
        if key not in self.done:
            self.done[key] = super().run(call)
        return self.done[key].clone()


@fault(
    "scales-by-pointer",
    family=STATE,
    source="DeepGEMM#444",
    what="Converted B scales are kept by address and shape, and are stale once the data behind the address changes.",
)
class _ScalesByPointer(Kernel):
    def __init__(self) -> None:
        self.kept: dict[tuple[Shape, int], Tensor] = {}

    def column_scales(self, call: Call) -> Tensor:
        return self.kept.setdefault((_shape(call), call.Bs.data_ptr()), super().column_scales(call).clone())


@fault(
    "weights-by-pointer",
    family=STATE,
    source="DeepGEMM#444",
    what="A repacked B is kept by address and shape, and is stale once other weights are loaded there.",
)
class _WeightsByPointer(Kernel):
    def __init__(self) -> None:
        self.kept: dict[tuple[int, int, int], Tensor] = {}

    def read_b(self, call: Call) -> Tensor:
        return self.kept.setdefault((call.n, call.k, call.B.data_ptr()), super().read_b(call))


@fault(
    "strides-by-shape",
    family=STATE,
    source="DeepGEMM#365",
    what="The descriptor of A is kept by shape, so a later A of other strides is read with the first one's.",
)
class _StridesByShape(Kernel):
    def __init__(self) -> None:
        self.strides: dict[tuple[int, int], tuple[int, ...]] = {}

    def read_a(self, call: Call) -> Tensor:
        strides = self.strides.setdefault((call.m, call.k), call.A.stride())
        return self.decode(peek(call.A, strides) if call.A.numel() else call.A)


@fault(
    "tuned-after-two-calls",
    family=STATE,
    source="TensorRT-LLM#18128",
    what="The third call of a shape takes a tuned tile of 256 columns that applies one B scale to both N blocks.",
)
class _TunedAfterTwoCalls(Kernel):
    def __init__(self) -> None:
        self.calls: dict[Shape, int] = {}

    def column_block(self, call: Call) -> Tensor:
        seen = self.calls[_shape(call)] = self.calls.get(_shape(call), 0) + 1
        return super().column_block(call) // (2 if seen > 2 else 1) * (2 if seen > 2 else 1)


@fault(
    "workspace-not-cleared",
    family=STATE,
    source="TransformerEngine#3171",
    what="From 16 K blocks on sums are added into a workspace kept by shape and cleared only when it is made.",
)
class _WorkspaceNotCleared(Kernel):
    def __init__(self) -> None:
        self.workspaces: dict[Shape, Tensor] = {}

    def total(self, call: Call) -> Tensor:
        total = super().total(call)
        if call.kb < 16:
            return total
        return self.workspaces.setdefault(_shape(call), call.zeros()).add_(total).clone()


@fault(
    "dtype-of-first-call",
    family=STATE,
    source="DeepGEMM#301",
    what="The compiled kernel is kept by shape without the result's dtype: later calls are rounded to the first one's.",
)
class _DtypeOfFirstCall(Kernel):
    def __init__(self) -> None:
        self.dtypes: dict[Shape, torch.dtype] = {}

    def store(self, call: Call, total: Tensor) -> Tensor:
        return super().store(call, total.to(self.dtypes.setdefault(_shape(call), call.out_dtype)))


@fault(
    "staging-keeps-lanes",
    family=STATE,
    source="sglang#32386",
    what="A is staged in a buffer that keeps the lanes of an earlier call with a slightly longer K, past a ragged K.",
)
class _StagingKeepsLanes(Kernel):
    def __init__(self) -> None:
        self.staged: dict[tuple[int, int], Tensor] = {}

    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        product, width = super().product(call, a, b, step), a.shape[1]
        before = self.staged.get((call.m, step.block))
        if before is None or before.shape[1] <= width:
            self.staged[call.m, step.block] = a
            return product
        return product + before[:, width:].sum(1, keepdim=True) * b[:, -1]
