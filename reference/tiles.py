"""Cutting an [M, N] result into tiles, so that nothing of size M x N x K is ever held."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from reference.blocks import BLOCK, Recipe, k_blocks, scale_rows

CPU_TILE = 1 << 18
"""Elements of a plane: enough for threads that sleep between operations to be worth waking, still within the caches."""
GPU_TILE = 1 << 21
"""Elements of a plane that fill a GPU and leave its memory to the kernel under test."""


@dataclass(frozen=True)
class Tile:
    """The part ``rows`` x ``cols`` of the result."""

    rows: slice
    cols: slice

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the tile."""
        return self.rows.stop - self.rows.start, self.cols.stop - self.cols.start


def budget(x: Tensor) -> int:
    """Elements that one plane should have on the device of ``x``."""
    return CPU_TILE if x.device.type == "cpu" else GPU_TILE


def tiles(m: int, n: int, *, limit: int) -> Iterator[Tile]:
    """Tiles of at most ``limit`` elements that cover [M, N]: wide ones, since the inner axis is the fast one."""
    width = max(1, min(n, limit))
    height = max(1, min(m, limit // width))
    for r in range(0, m, height):
        for c in range(0, n, width):
            yield Tile(slice(r, min(r + height, m)), slice(c, min(c + width, n)))


def lanes_first(x: Tensor, width: int = BLOCK, *, filled: int = 0) -> Tensor:
    """``x`` [R, K] as [width, blocks, R]: a contiguous plane per lane; the ragged end is ``filled`` up."""
    return k_blocks(x, width, filled=filled).permute(2, 0, 1).contiguous()


def scales_by_row(As: Tensor, Bs: Tensor, recipe: Recipe, m: int, n: int) -> tuple[Tensor, Tensor]:
    """One A scale per row [kb, M] and one B scale per column [kb, N] of the result; kb is 1 if it covers all K."""
    return scale_rows(As, m, recipe.a_rows).contiguous(), scale_rows(Bs, n, recipe.b_rows).contiguous()
