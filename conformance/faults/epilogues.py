"""Seeded faults: accumulators on their way to the result."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import Call, Kernel, Step, fault
from reference.blocks import BLOCK

WORKERS = 64
"""Persistent workers, each of which computes every 64th tile of the result (as many as a GPU has in the report)."""


@fault(
    "k-warp-tail-lost",
    family="K tails and split-K",
    source="humming#45",
    what="Up to 64 rows two warps share K, and their sums are added in whole vectors of 32 columns, without the rest.",
)
class _KWarpTailLost(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        product = super().product(call, a, b, step)
        if call.m <= 64 and step.block % 2:
            product[:, call.n // 32 * 32 :] = 0.0
        return product


@fault(
    "packed-add-loses-odd-columns",
    family="K tails and split-K",
    source="rocm-libraries#10913",
    what="From 4 blocks on K is split in two, and the packed float16 add of the second half drops its odd columns.",
)
class _PackedAddLosesOddColumns(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        product = super().product(call, a, b, step)
        if call.out_dtype == torch.float16 and call.kb >= 4 and step.block >= call.kb // 2:
            product[:, 1::2] = 0.0
        return product


@fault(
    "accumulator-kept-between-tiles",
    family="unwritten or overwritten memory",
    source="tilelang#2617",
    what="A persistent worker clears its accumulator for its first tile only, so its next one starts from that sum.",
)
class _AccumulatorKeptBetweenTiles(Kernel):
    def total(self, call: Call) -> Tensor:
        total = super().total(call)
        tiles = [tile for rows in torch.split(total, BLOCK) for tile in torch.split(rows, BLOCK, dim=1)]
        for tile, before in zip(tiles[WORKERS:], tiles, strict=False):
            # A ragged tile has part of its accumulator outside of the result.
            tile[: before.shape[0], : before.shape[1]] += before[: tile.shape[0], : tile.shape[1]]
        return total


@fault(
    "nan-spreads-over-tile",
    family="special values",
    source="flashinfer#3650",
    what="A NaN in one row of the result makes its column NaN in the whole tile of 32 rows.",
)
class _NanSpreadsOverTile(Kernel):
    def total(self, call: Call) -> Tensor:
        total = super().total(call)
        for tile in torch.split(total, 32):
            tile.masked_fill_(tile.isnan().any(0), torch.nan)
        return total


@fault(
    "old-result-times-zero",
    family="unwritten or overwritten memory",
    source="flashinfer#3959",
    what="What the memory of the result held before is multiplied by beta = 0 and added, and not left unread.",
)
class _OldResultTimesZero(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        result = call.unwritten()
        return result.copy_(total + 0.0 * result)


@fault(
    "half-subnormals-flushed",
    family="arithmetic and rounding",
    source="surogate#162",
    what="A float16 result below 2**-14 in magnitude, which float16 holds as a subnormal number, becomes zero.",
)
class _HalfSubnormalsFlushed(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        result = super().store(call, total)
        return torch.where(result.abs() < 2**-14, 0 * result, result) if call.out_dtype == torch.float16 else result


@fault(
    "staging-tile-refilled",
    family="races",
    source="cutlass#3636",
    what="Up to 2 K blocks every third call refills the first of 3 staging tiles before its store has read it.",
)
class _StagingTileRefilled(Kernel):
    def __init__(self) -> None:
        self.calls = 0

    def store(self, call: Call, total: Tensor) -> Tensor:
        result, self.calls = super().store(call, total), self.calls + 1
        if self.calls % 3 == 0 and call.kb <= 2:
            refill = result[:64, 3 * BLOCK : 4 * BLOCK]
            result[:64, : refill.shape[1]] = refill
        return result


@fault(
    "float32-result-is-scratch",
    family="output aliasing",
    source="AiDotNet.Tensors#101",
    what="The accumulator is a scratch buffer kept by shape, and casting it to a float32 result makes no copy.",
)
class _Float32ResultIsScratch(Kernel):
    def __init__(self) -> None:
        self.scratch: dict[tuple[int, int, torch.device], Tensor] = {}

    def store(self, call: Call, total: Tensor) -> Tensor:
        scratch = self.scratch.setdefault((call.m, call.n, total.device), torch.empty_like(total))
        return super().store(call, scratch.copy_(total))
