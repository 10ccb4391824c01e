"""A linear layer of a model, and how tensor parallelism cuts it.

Rules are those of the engines that serve block FP8: heads stay whole, K and V heads are copied where there are fewer of
them than ranks, and no cut may fall inside a 128x128 block, because its scale cannot be cut.
"""

from __future__ import annotations

from dataclasses import dataclass
from reprlib import repr as brief
from typing import Literal

BLOCK = 128


@dataclass(frozen=True)
class Part:
    """``units`` heads, or single rows where ``width`` is 1, that stay whole; ``copied`` where ranks may share one."""

    units: int
    width: int = 1
    copied: bool = False

    def of(self, tp: int) -> int | None:
        """Rows that one of ``tp`` ranks holds; None where they do not divide."""
        if self.units % tp == 0:
            return self.units // tp * self.width
        return self.width if self.copied and tp % self.units == 0 else None


@dataclass(frozen=True)
class Layer:
    """``y = x W^T`` with W [n, k], cut along ``cut``; ``parts`` make up that axis (n of a layer that is not cut)."""

    name: str
    n: int
    k: int
    cut: Literal["n", "k", "none"]
    parts: tuple[Part, ...] = ()

    def shard(self, tp: int) -> tuple[int, int] | None:
        """(n, k) of one of ``tp`` ranks, None where the layer cannot be cut so."""
        sizes = self._sizes(tp)
        if isinstance(sizes, str):
            return None
        return (self.n, sum(sizes)) if self.cut == "k" else (sum(sizes), self.k)

    def why_not(self, tp: int) -> str | None:
        """Why the layer cannot be cut among ``tp`` ranks, None where it can."""
        sizes = self._sizes(tp)
        return sizes if isinstance(sizes, str) else None

    def _sizes(self, tp: int) -> list[int] | str:
        if type(tp) is not int or tp < 1:
            raise ValueError(f"tensor parallelism is {brief(tp)}; it must be a positive whole number")
        axis, length = ("K", self.k) if self.cut == "k" else ("N", self.n)
        ranks, sizes = (1 if self.cut == "none" else tp), []
        for part in self.parts or (Part(length),):
            size = part.of(ranks)
            if size is None:
                return f"{part.units} {'heads' if part.width > 1 else f'of {axis}'} do not divide by {tp}"
            sizes.append(size)
        # A whole weight may end inside a block; a part that another rank or part goes on from may not.
        for size in sizes if ranks > 1 else sizes[:-1]:
            if size % BLOCK:
                return f"{size} of {axis} end inside a block of {BLOCK}"
        return sizes
