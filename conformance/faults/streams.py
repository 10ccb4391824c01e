"""Seeded faults: work on the wrong CUDA stream, and graphs that record what should be read anew."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from conformance.faults.kernel import Call, Family, Kernel, fault

RACES: Family = "races"
CUDA: Any = torch.cuda
CYCLES = 20_000_000
"""How long a stream is held up where two streams race: about ten milliseconds."""
MOMENT = 600_000
"""About a third of a millisecond: long enough for any producer that is not held up."""


def _read_beside(x: Tensor, *, after: int = 0) -> Tensor:
    """A copy of ``x`` made on a stream of its own ``after`` so many cycles, whatever is pending on the current one."""
    home, side = CUDA.current_stream(x.device), CUDA.Stream(x.device)
    with torch.cuda.stream(side):
        if after:
            CUDA._sleep(after)
        copy = x.clone()
    home.wait_stream(side)
    copy.record_stream(home)
    return copy


@fault(
    "scales-read-on-side-stream",
    family=RACES,
    source="flashinfer#2708",
    needs="cuda",
    what="Scales are copied on a stream that does not wait for the one that produces them.",
)
class _ScalesReadOnSideStream(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        if not call.As.is_cuda or torch.cuda.is_current_stream_capturing():
            return call.As
        return _read_beside(call.As)


@fault(
    "result-not-waited-for",
    family=RACES,
    source="DeepGEMM#375",
    needs="cuda",
    what="The last 16 columns are stored on a stream of the kernel's own that the caller's does not wait for.",
)
class _ResultNotWaitedFor(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total)
        if not out.is_cuda or torch.cuda.is_current_stream_capturing():
            return out
        late = out[:, -16:].clone()
        out[:, -16:] = 0
        side = CUDA.Stream(out.device)
        side.wait_stream(torch.cuda.current_stream(out.device))
        with torch.cuda.stream(side):
            CUDA._sleep(CYCLES)
            out[:, -16:] = late
        for tensor in (out, late):
            tensor.record_stream(side)
        return out


@fault(
    "legacy-stream-only",
    family=RACES,
    source="DeepGEMM#193",
    needs="cuda",
    what="A is decoded on the default stream, which does not wait for the work pending on the caller's own.",
)
class _LegacyStreamOnly(Kernel):
    def read_a(self, call: Call) -> Tensor:
        if not call.A.is_cuda or torch.cuda.is_current_stream_capturing():
            return super().read_a(call)
        stream, legacy = torch.cuda.current_stream(call.A.device), torch.cuda.default_stream(call.A.device)
        with torch.cuda.stream(legacy):
            a = super().read_a(call)
        stream.wait_stream(legacy)
        a.record_stream(stream)
        return a


@fault(
    "graph-keeps-warm-up-scales",
    family=RACES,
    source="DeepGEMM#444",
    needs="cuda",
    what="A graph records the converted scales of the warm-up call, so a replay after new scales uses the old ones.",
)
class _GraphKeepsWarmUpScales(Kernel):
    def __init__(self) -> None:
        self.warm: dict[tuple[int, int, int], Tensor] = {}

    def column_scales(self, call: Call) -> Tensor:
        key = (call.n, call.k, call.Bs.data_ptr())
        scales = super().column_scales(call)
        if not call.Bs.is_cuda or not torch.cuda.is_current_stream_capturing():
            self.warm[key] = scales.clone()
        return self.warm.get(key, scales)


@fault(
    "default-stream-given-a-moment",
    family=RACES,
    source="cutlass#2962",
    needs="cuda",
    what="Called on the default stream, scales of A are read beside its pending work a moment later, without an event.",
)
class _DefaultStreamGivenAMoment(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        home = torch.cuda.current_stream(call.As.device) if call.As.is_cuda else None
        if home is None or home != torch.cuda.default_stream(call.As.device):
            return call.As
        return _read_beside(call.As, after=MOMENT)


@fault(
    "graph-has-one-result-per-shape",
    family=RACES,
    source="TransformerEngine#3171",
    needs="cuda",
    what="While capturing, results of one shape share the buffer that the warm-up made for it.",
)
class _GraphHasOneResultPerShape(Kernel):
    def __init__(self) -> None:
        self.buffers: dict[tuple[int, int, torch.dtype], Tensor] = {}

    def store(self, call: Call, total: Tensor) -> Tensor:
        out, key = super().store(call, total), (call.m, call.n, call.out_dtype)
        if out.is_cuda and torch.cuda.is_current_stream_capturing():
            return self.buffers.setdefault(key, out).copy_(out)
        self.buffers[key] = torch.empty_like(out)
        return out
