"""The engine ``triton``: `triton_gpu` behind the common interface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from reference.arithmetic import Arithmetic, ScaleOrder
from reference.engine import Eager, is_plain
from reference.engines import triton_gpu
from reference.promote import Chosen
from reference.tiles import Tile


class TritonEngine(Eager):
    """Compiled for NVIDIA GPUs. What it does not know it leaves to eager torch."""

    name = "triton"

    def why_not(self, device: torch.device, arithmetic: Arithmetic) -> str | None:
        """NVIDIA GPUs from Ampere on, and arithmetics that truncate."""
        if device.type != "cuda" or torch.version.hip or torch.cuda.get_device_capability(device) < (8, 0):
            return "runs on NVIDIA GPUs of compute capability 8.0 or more only"
        return None if is_plain(arithmetic) else "knows arithmetics that truncate and promote by K block only"

    def products(self, A: Tensor, B: Tensor, arithmetic: Arithmetic) -> Iterator[tuple[Tile, Tensor]]:
        """Whole rows at a time."""
        return triton_gpu.iter_block_products(A, B, group=arithmetic.group, fraction_bits=arithmetic.fraction_bits)

    def promote(
        self,
        products: Tensor,
        sa: Tensor,
        sb: Tensor,
        splits: Sequence[int],
        *,
        order: ScaleOrder,
        fused: bool,
        chosen: Chosen | None,
    ) -> list[Tensor]:
        """All splits in one launch."""
        if chosen is not None:
            return super().promote(products, sa, sb, splits, order=order, fused=fused, chosen=chosen)
        first = order == "scales-first"
        return list(triton_gpu.promote_each(products, sa, sb, scales_first=first, splits=splits).unbind())


ENGINE = TritonEngine()
