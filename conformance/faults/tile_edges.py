"""Seeded faults: wrong at the edge of a tile, or in the path taken for few rows."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, fault
from reference.blocks import BLOCK

EDGES: Family = "tile edges"


@fault(
    "odd-m-last-row",
    family=EDGES,
    source="aiter#5643",
    what="Rows are stored in pairs, and with M odd the last one is stored with the values of the row before.",
)
class _OddMLastRow(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        total = total.clone()
        if call.m % 2 and call.m > 1:
            total[-1] = total[-2]
        return super().store(call, total)


@fault(
    "scale-vector-load-at-m-edge",
    family=EDGES,
    source="vllm#40016",
    what="A scales are loaded four rows at a time, and the last load is moved back to end at M without moving its use.",
)
class _ScaleVectorLoadAtMEdge(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        rows, tail = call.rows(), call.m // 4 * 4
        moved = rows - tail + max(call.m - 4, 0)
        return call.As[torch.where(rows < tail, rows, moved)]


@fault(
    "n-remainder-repeats-column",
    family=EDGES,
    source="DeepGEMM#147",
    what="The last N % 8 columns repeat the one before them, where N is at least 8.",
)
class _NRemainderRepeatsColumn(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        full = call.n // 8 * 8
        total = total.clone()
        if 0 < full < call.n:
            total[:, full:] = total[:, full - 1 : full]
        return super().store(call, total)


@fault(
    "corner-tile-b-scale",
    family=EDGES,
    source="cutlass#3596",
    what="Only the tile ragged in both M and N is wrong: it takes the B scales of the first N block.",
)
class _CornerTileBScale(Kernel):
    def total(self, call: Call) -> Tensor:
        total, rows, columns = super().total(call), call.m // BLOCK * BLOCK, call.n // BLOCK * BLOCK
        if 0 < rows < call.m and 0 < columns < call.n:
            corner = Call(call.A[rows:], call.B[columns:], call.As[rows:], call.Bs[:1], call.out_dtype)
            total[rows:, columns:] = super().total(corner)
        return total


@fault(
    "swap-ab-scale-index",
    family=EDGES,
    source="vllm#37718",
    what="For M up to 8 the operands are swapped and N is tiled by 64, but the B scale index counts tiles as blocks.",
)
class _SwapABScaleIndex(Kernel):
    def column_block(self, call: Call) -> Tensor:
        if call.m > 8:
            return super().column_block(call)
        return (call.columns() // 64).clamp(max=max(call.nb - 1, 0))


@fault(
    "single-row-first-scale",
    family=EDGES,
    source="vLLM cuTile test",
    what="The path for M = 1 applies the A scale of the first K block to all.",
)
class _SingleRowFirstScale(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return call.As[:, :1].expand(1, call.kb) if call.m == 1 and call.kb else call.As


@fault(
    "small-group-rows-rotated",
    family=EDGES,
    source="DeepGEMM#268",
    what="For M between 33 and 63 the first two warps exchange their 16 rows of A.",
)
class _SmallGroupRowsRotated(Kernel):
    def read_a(self, call: Call) -> Tensor:
        a = super().read_a(call)
        return torch.cat([a[16:32], a[:16], a[32:]]) if 32 < call.m < 64 else a


@fault(
    "n-below-tile-transposed",
    family=EDGES,
    source="DeepGEMM#147",
    what="Where M = N <= 16 the single fragment is stored transposed.",
)
class _NBelowTileTransposed(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        return super().store(call, total.t().contiguous() if call.m == call.n <= 16 else total)


@fault(
    "m-edge-mask-off-by-one",
    family=EDGES,
    source=FOLKLORE,
    what="The mask of a ragged last M tile is `row < M - 1`, so its last row is computed from zeros.",
)
class _MEdgeMaskOffByOne(Kernel):
    def read_a(self, call: Call) -> Tensor:
        a = super().read_a(call)
        if call.m > BLOCK and call.m % BLOCK:
            a = a.clone()
            a[-1] = 0
        return a
