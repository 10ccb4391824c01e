"""Seeded faults: what a host prepares before the launch, tunes on the first call and keeps for the next one."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, fault

STATE: Family = "caching and stale state"


@fault(
    "weights-by-first-row",
    family=STATE,
    source="AiDotNet.Tensors#583",
    what="A repacked B is kept by shape and known by its first row: weights that differ further down are taken for it.",
)
class _WeightsByFirstRow(Kernel):
    known_by = slice(1)

    def __init__(self) -> None:
        self.kept: dict[tuple[int, int, torch.device], Tensor] = {}

    def read_b(self, call: Call) -> Tensor:
        b = super().read_b(call)
        packed = self.kept.setdefault((call.n, call.k, b.device), b)
        known, seen = packed[self.known_by], b[self.known_by]
        return torch.where((known == seen).all() & (known.numel() > 0), packed, b)


@fault(
    "weights-by-all-rows-but-one",
    family=STATE,
    source="AiDotNet.Tensors#583",
    what="A repacked B is kept by shape and known by all rows but the last: weights that differ there are not seen.",
)
class _WeightsByAllRowsButOne(_WeightsByFirstRow):
    known_by = slice(-1)


@fault(
    "rows-by-pointer",
    family=STATE,
    source="flashinfer#4601",
    what="Launch arguments are kept by the addresses of A and B: a call with more rows stores those of the first.",
)
class _RowsByPointer(Kernel):
    def __init__(self) -> None:
        self.rows: dict[tuple[int, int], int] = {}

    def store(self, call: Call, total: Tensor) -> Tensor:
        result, rows = call.unwritten(), self.rows.setdefault((call.A.data_ptr(), call.B.data_ptr()), call.m)
        result[:rows] = super().store(call, total)[:rows]
        return result


@fault(
    "tuning-adds-up",
    family=STATE,
    source="triton#6547",
    what="From 8 K blocks on sums are added to the result, on which the first call of a shape tries two candidates.",
)
class _TuningAddsUp(Kernel):
    def __init__(self) -> None:
        self.tuned: set[tuple[int, int, int]] = set()

    def total(self, call: Call) -> Tensor:
        total, shape = super().total(call), (call.m, call.n, call.k)
        if call.kb < 8 or shape in self.tuned:
            return total
        self.tuned.add(shape)
        return 3 * total


@fault(
    "tuner-filled-the-rest",
    family=STATE,
    source="triton#9230",
    what="The chosen tile of 256 columns leaves out a ragged rest, which only the tuning first call has written.",
)
class _TunerFilledTheRest(Kernel):
    def __init__(self) -> None:
        self.tuned: set[tuple[int, int, int]] = set()

    def store(self, call: Call, total: Tensor) -> Tensor:
        result, shape, whole = super().store(call, total), (call.m, call.n, call.k), call.n // 256 * 256
        if shape in self.tuned and whole:
            result[:, whole:] = call.unwritten()[:, whole:]
        self.tuned.add(shape)
        return result


@fault(
    "scales-divided-back",
    family="input mutation",
    source=FOLKLORE,
    what="A scales are multiplied by 448 in place and divided by it afterwards, which moves some of them by one unit.",
)
class _ScalesDividedBack(Kernel):
    def run(self, call: Call) -> Tensor:
        result = super().run(call)
        if 0 not in call.As.stride():
            # By a tensor: divided by a number it would be multiplied by a reciprocal on a GPU, which changes NaN, too.
            there_and_back = call.As * 448.0 / torch.full_like(call.As, 448.0)
            call.As.copy_(torch.where(call.As.isnan(), call.As, there_and_back))
        return result


@fault(
    "scales-freed-before-launch",
    family="races",
    source="aiter#2358",
    what="Spread B scales are freed before the launch that reads their address, which the accumulator can take over.",
    needs="cuda",
)
class _ScalesFreedBeforeLaunch(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        scales = super().column_scales(call)
        if not scales.is_cuda:
            return scales
        freed = scales.shape
        del scales
        accumulator = call.zeros()
        # The allocator gives the block back where nothing else took it, which is what hides the fault.
        return torch.empty(freed, dtype=accumulator.dtype, device=accumulator.device)


@fault(
    "graph-misses-clearing",
    family=STATE,
    source="aiter#4715",
    what="From 4 K blocks on sums go through a workspace that the host clears: a graph replayed twice adds to its own.",
    needs="cuda",
)
class _GraphMissesClearing(Kernel):
    def __init__(self) -> None:
        self.sums: dict[tuple[int, int, int], Tensor] = {}

    def total(self, call: Call) -> Tensor:
        total = super().total(call)
        if call.kb < 4 or not total.is_cuda:
            return total
        sums = self.sums.setdefault((call.m, call.n, call.k), torch.zeros_like(total))
        total = sums.add_(total).clone()
        if not torch.cuda.is_current_stream_capturing():
            sums.zero_()
        return total
