"""The engine ``numba``: `numba_cpu` behind the common interface."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from reference.arithmetic import Arithmetic, ScaleOrder
from reference.blocks import BLOCK, ceil_div
from reference.engine import Eager, is_plain
from reference.engines import numba_cpu
from reference.formats import format_of
from reference.promote import Chosen
from reference.tiles import Tile

AT_ONCE = 1 << 26
"""Block products that are held at a time: 256 MiB."""


class NumbaEngine(Eager):
    """Compiled for the CPU. What it does not know it leaves to eager torch."""

    name = "numba"

    def why_not(self, device: torch.device, arithmetic: Arithmetic) -> str | None:
        """CPUs, and arithmetics that truncate."""
        if device.type != "cpu":
            return "runs on CPUs only"
        return None if is_plain(arithmetic) else "knows arithmetics that truncate and promote by K block only"

    def products(self, A: Tensor, B: Tensor, arithmetic: Arithmetic) -> Iterator[tuple[Tile, Tensor]]:
        """Whole rows at a time."""
        n, blocks = B.shape[0], ceil_div(A.shape[1], BLOCK)
        height = max(1, AT_ONCE // max(1, n * blocks))
        (a, fa), (b, fb) = ((x.contiguous().view(torch.uint8).numpy(), format_of(x.dtype)) for x in (A, B))
        for start in range(0, A.shape[0], height):
            rows = slice(start, min(start + height, A.shape[0]))
            products = numba_cpu.block_products(
                a[rows],
                b,
                a_values=fa.values.numpy(),
                b_values=fb.values.numpy(),
                a_exponents=fa.exponents.numpy(),
                b_exponents=fb.exponents.numpy(),
                group=arithmetic.group,
                fraction_bits=arithmetic.fraction_bits,
            )
            yield Tile(rows, slice(0, n)), torch.from_numpy(products)

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
        """One pass a split."""
        if chosen is not None:
            return super().promote(products, sa, sb, splits, order=order, fused=fused, chosen=chosen)
        arrays = [x.contiguous().numpy() for x in (products, sa, sb)]
        first = order == "scales-first"
        results = (numba_cpu.promote(*arrays, scales_first=first, split=split) for split in splits)
        return [torch.from_numpy(result) for result in results]


ENGINE = NumbaEngine()
