"""The rows of the map: problem shapes, or groups of them where there are many."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SHAPE = re.compile(r"/(?:m(\d{1,18})-)?(?:n(\d{1,18})-)?k(\d{1,18})/")
ABSENT = -1
"""The size of an axis that a quantiser's input does not have: activations have no N, and weights no M."""
MOST = 24
"""Shapes that have a row of their own; where there are more, groups have."""
NONE = "drawn shapes"
"""The row of batches of generated cases, whose ids name no shape."""

# Groups of what kernels are prone to treat alike: one token, one tile of 64 rows, a few tiles, many; one N block of
# scales or more; and K blocks in fours, to which cuBLASLt pads their scales.
ROWS_UP_TO = (1, 64, 256)
M_WORDS = ("M ≤ 1", "M 2–64", "M 65–256", "M > 256")
N_WORDS = ("N ≤ 128", "N > 128")
K_WORDS = ("1 K block", "K blocks in fours", "other K blocks")


@dataclass(frozen=True, order=True)
class Shape:
    """M, N and K of a problem, `ABSENT` where there is none."""

    m: int
    n: int
    k: int

    @property
    def name(self) -> str:
        """As ids spell it."""
        sizes = {"m": self.m, "n": self.n, "k": self.k}
        return "-".join(f"{axis}{size}" for axis, size in sizes.items() if size != ABSENT)

    @property
    def place(self) -> tuple[int, int, int]:
        """Of M, N and K, which group each is in."""
        blocks = -(-self.k // 128)
        return bisect_left(ROWS_UP_TO, self.m), int(self.n > 128), 0 if blocks <= 1 else 1 if blocks % 4 == 0 else 2

    @property
    def group(self) -> str:
        """The name of its group."""
        m, n, k = self.place
        words = {M_WORDS[m]: self.m, N_WORDS[n]: self.n, K_WORDS[k]: self.k}
        return " · ".join(word for word, size in words.items() if size != ABSENT)


def shape_in(text: str) -> Shape | None:
    """The shape that a case id names, or None."""
    match = SHAPE.search(text)
    return Shape(*(ABSENT if size is None else int(size) for size in match.groups())) if match else None


def rows_of(ids: Iterable[str]) -> Mapping[str, str]:
    """From the name of every shape in ``ids`` (empty for those without one) to its row, rows in ascending order."""
    shapes = {shape_in(text) for text in ids}
    known = sorted(shape for shape in shapes if shape)
    if len(known) <= MOST:
        rows = {shape.name: shape.name for shape in known}
    else:
        rows = {shape.name: shape.group for shape in sorted(known, key=lambda shape: shape.place)}
    return {**rows, "": NONE} if None in shapes else rows
