"""Where the wrong elements of a result lie: their shape in words, and a coarse map."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

Shape = Literal[
    "all-nan", "everything", "element", "row", "rows", "column", "columns", "tile", "tiles", "k-block", "scattered"
]
MOST_ROWS, MOST_COLUMNS = 16, 32
"""Cells of a map: it is for a glance, and a report has one for every failing case."""
NEARLY = 0.9
"""Share of the rows or columns hit that counts as all of them: a wrong kernel is right here and there by chance."""


@dataclass(frozen=True)
class Location:
    """Shape of the error, a phrase that says where it is, and its map."""

    shape: Shape
    where: str
    picture: dict[str, object]


def locate(wrong: Tensor) -> Location:
    """The location of the ``wrong`` elements, a mask [M, N] with at least one of them."""
    rows, columns = _Hit.of(wrong.any(1), "row"), _Hit.of(wrong.any(0), "column")
    return Location(_shape(wrong, rows, columns), _where(wrong, rows, columns), draw(wrong))


@dataclass(frozen=True)
class _Hit:
    """The indices of an axis that are hit, and how many there are of it."""

    what: str
    index: tuple[int, ...]
    size: int

    @classmethod
    def of(cls, hit: Tensor, what: str) -> _Hit:
        return cls(what, tuple(torch.nonzero(hit).flatten().tolist()), hit.numel())

    @property
    def is_all(self) -> bool:
        return len(self.index) >= NEARLY * self.size

    @property
    def is_dense(self) -> bool:
        return self.index[-1] - self.index[0] + 1 == len(self.index)

    def phrase(self) -> str:
        if len(self.index) == self.size:
            return f"all {self.what}s"
        if len(self.index) == 1:
            return f"{self.what} {self.index[0]}"
        span = f"{self.index[0]} to {self.index[-1]}"
        return f"{self.what}s {span}" if self.is_dense else f"{len(self.index)} {self.what}s from {span}"


def _where(wrong: Tensor, rows: _Hit, columns: _Hit) -> str:
    if bool(wrong.all()):
        return "every element"
    said = f"{rows.phrase()} and {columns.phrase()}"
    count, room = int(wrong.sum()), len(rows.index) * len(columns.index)
    # Rounded down, so that 100 % are all.
    return said if count == room else f"{said}, {100 * count // room}% of the elements there"


def _shape(wrong: Tensor, rows: _Hit, columns: _Hit) -> Shape:
    hit = len(rows.index), len(columns.index)
    if hit == (1, 1) and wrong.numel() > 1:
        return "element"
    if int(wrong.sum()) * 2 < hit[0] * hit[1]:
        return "scattered"
    if rows.is_all and columns.is_all:
        return "everything"
    if columns.is_all:
        return "row" if hit[0] == 1 else "rows"
    if rows.is_all:
        return "column" if hit[1] == 1 else "columns"
    return "tile" if rows.is_dense and columns.is_dense else "tiles"


def draw(wrong: Tensor) -> dict[str, object]:
    """The map of a mask [M, N]: its size, the elements of a cell, and its rows, equal ones once with ``*count``.

    A cell is ``.`` with nothing wrong, ``-`` with something, ``+`` with at least half, ``#`` with everything wrong.
    """
    m, n = wrong.shape
    height, width = _step(m, MOST_ROWS), _step(n, MOST_COLUMNS)
    share = _sums(wrong, height, width) / _sums(torch.ones_like(wrong), height, width)
    level = (share > 0).int() + (share >= 0.5).int() + (share == 1).int()
    lines = ["".join(".-+#"[x] for x in row) for row in level.tolist()]
    counted = ((line, len(list(same))) for line, same in groupby(lines))
    rows = [f"{line}*{count}" if count > 1 else line for line, count in counted]
    return {"size": [m, n], "cell": [height, width], "rows": rows}


def _step(size: int, most: int) -> int:
    """The power of two that ``size`` is cut by into ``most`` cells or fewer: their edges are those of tiles."""
    step = 1
    while step * most < size:
        step *= 2
    return step


def _sums(mask: Tensor, height: int, width: int) -> Tensor:
    m, n = mask.shape
    whole = pad(mask, (0, -n % width, 0, -m % height))
    return whole.view(-(-m // height), height, -(-n // width), width).sum((1, 3)).double()
