"""Seeded faults: an N block takes the scale of another."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import Call, Family, Kernel, fault
from reference.blocks import BLOCK, ceil_div

INDEX: Family = "scale index and layout"


@fault(
    "warp-tile-wider-than-scale",
    family=INDEX,
    source="composable_kernel#3771",
    what="A warp tile is 256 columns wide and takes the scale of its first N block for both.",
)
class _WarpTileWiderThanScale(Kernel):
    def column_block(self, call: Call) -> Tensor:
        return super().column_block(call) // 2 * 2


@fault(
    "first-n-block-for-all",
    family=INDEX,
    source="pytorch#159940",
    what="The B scale is read as if it were one per K block: every N block takes the first one's.",
)
class _FirstNBlockForAll(Kernel):
    def column_block(self, call: Call) -> Tensor:
        return torch.zeros_like(call.columns())


@fault(
    "ragged-n-takes-last-full-block",
    family=INDEX,
    source="vllm#49596",
    what="The N block index is held at N // 128 - 1, so a ragged last N block takes the scale of the one before.",
)
class _RaggedNTakesLastFullBlock(Kernel):
    def column_block(self, call: Call) -> Tensor:
        return super().column_block(call).clamp(max=max(call.n // BLOCK - 1, 0))


@fault(
    "n-blocks-counted-by-k",
    family=INDEX,
    source="vllm#28637",
    what="The count of N blocks is taken from the other axis of B, so the index is held at K / 128 - 1.",
)
class _NBlocksCountedByK(Kernel):
    def column_block(self, call: Call) -> Tensor:
        return super().column_block(call).clamp(max=max(call.kb - 1, 0))


@fault(
    "block-size-from-wrong-dimension",
    family=INDEX,
    source="vllm#47103",
    what="The width of an N block is inferred as N over the second extent of Bs, which counts K blocks.",
)
class _BlockSizeFromWrongDimension(Kernel):
    def column_block(self, call: Call) -> Tensor:
        return (call.columns() // ceil_div(max(call.n, 1), max(call.kb, 1))).clamp(max=max(call.nb - 1, 0))


@fault(
    "shard-offset-rounded-up",
    family=INDEX,
    source="vllm#52997",
    what="N is two merged shards and the scale offset of the second is rounded up to a whole block.",
)
class _ShardOffsetRoundedUp(Kernel):
    def column_block(self, call: Call) -> Tensor:
        half, columns = call.n // 2, call.columns()
        second = ceil_div(half, BLOCK) + (columns - half) // BLOCK
        return torch.where(columns < half, columns // BLOCK, second).clamp(max=max(call.nb - 1, 0))
