"""Seeded faults: a row or a K block takes the scale of another."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, Step, fault
from reference.blocks import BLOCK, ceil_div

INDEX: Family = "scale index and layout"


@fault(
    "m-tile-floor-division",
    family=INDEX,
    source="cutlass#2154",
    what="The scale copy counts M // 128 tiles, so rows of a partial last tile keep the scales of the tile before.",
)
class _MTileFloorDivision(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        full = max(call.m // BLOCK, 1) * BLOCK
        rows = call.rows()
        return call.As[torch.where(rows < full, rows, rows - BLOCK)]


@fault(
    "second-m-wave-scaled-twice",
    family=INDEX,
    source="cutlass#3596",
    what="The shared B scales are multiplied by the A scales of the first 128 rows and reused by the next 128.",
)
class _SecondMWaveScaledTwice(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        scales = call.As.clone()
        scales[BLOCK : 2 * BLOCK] *= call.As[: max(min(call.m - BLOCK, BLOCK), 0)]
        return scales


@fault(
    "next-token-scale",
    family=INDEX,
    source="sglang#29038",
    what="Past row 128 every row takes the scales of the token after it.",
)
class _NextTokenScale(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        rows = call.rows()
        return call.As[torch.where(rows < BLOCK, rows, rows + 1).clamp(max=max(call.m - 1, 0))]


@fault(
    "wide-k-tile-shares-scale",
    family=INDEX,
    source="sglang#39626",
    what="A K tile spans two blocks and applies the first one's scales to both, where K is a multiple of 256.",
)
class _WideKTileSharesScale(Kernel):
    def steps(self, call: Call) -> list[Step]:
        shared = call.k % (2 * BLOCK) == 0
        return [step._replace(block=step.block // 2 * 2) if shared else step for step in super().steps(call)]


@fault(
    "narrow-k-tile-scale-index",
    family=INDEX,
    source="TileOPs#1666",
    what="K tiles are 64 wide and the scale index is the tile's number, held at the last block.",
)
class _NarrowKTileScaleIndex(Kernel):
    def steps(self, call: Call) -> list[Step]:
        tiles = range(ceil_div(call.k, 64))
        return [Step(min(t, call.kb - 1), slice(t * 64, min((t + 1) * 64, call.k))) for t in tiles]


@fault(
    "fragment-row-scale",
    family=INDEX,
    source="composable_kernel#3771",
    what="From M = 64 on, rows r and r + 8, which one lane holds, are both scaled by the scale of row r.",
)
class _FragmentRowScale(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return call.As[call.rows() // 16 * 16 + call.rows() % 8] if call.m >= 64 else call.As


@fault(
    "scales-swapped",
    family=INDEX,
    source="aiter#1258",
    what="The pointers of the A and B scales change places: rows read Bs by block, columns read As by row.",
)
class _ScalesSwapped(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return call.Bs[(call.rows() // BLOCK).clamp(max=call.nb - 1)] if call.n else call.As

    def column_scales(self, call: Call) -> Tensor:
        return call.As[call.columns().clamp(max=call.m - 1)] if call.m else super().column_scales(call)


@fault(
    "scale-prefetch-one-ahead",
    family=INDEX,
    source=FOLKLORE,
    what="In K block 3 a prefetch runs one ahead, so the B scale is the one of block 4, where there is one.",
)
class _ScalePrefetchOneAhead(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        scales = super().column_scales(call).clone()
        if call.kb > 4:
            scales[:, 3] = scales[:, 4]
        return scales
