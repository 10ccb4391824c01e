"""Scale patterns in which every wrong index shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import torch
from torch import Tensor

from cases.stream import Stream

SHIFTS = 256
LOOKED_AT = 64
"""Places that each wrong reading is looked at."""
LEAST = 64
"""Scales that a wrong reading must give for chance to be ruled out."""
MOVED = 16
"""One scale in so many has to differ at least; of unrelated tags half do or more."""


def tags(stream: Stream, rows: int, columns: int, *, limit: int) -> Tensor:
    """Integer scales 1 .. limit, float32 [rows, columns], in which neighbours differ.

    The residue modulo 3 follows (row + 2 * column) mod 3, which keeps neighbours apart in a row, in a column and on
    rising diagonals; the rest is random, which leaves no shift, transposition or other leading dimension that maps
    the pattern onto itself.
    """
    row = torch.arange(rows, device=stream.device)[:, None]
    column = torch.arange(columns, device=stream.device)[None, :]
    residue = (row + 2 * column) % 3
    return (3 * stream.below(limit // 3, rows, columns) + residue + 1).float()


def alias_of(scales: Tensor) -> str | None:
    """Which wrong index gives ``scales`` [rows, columns] back, or None; every reading is looked at in a few places.

    Readings are shifts by 1 to 256 rows, columns (K blocks) and elements in memory of either major, other leading
    dimensions, memory of the other major, and transposition. Those that give too few scales to tell are not asked.
    """
    if scales.numel() < LEAST:
        return None
    names, places = _readings(*scales.shape, scales.device)
    if not names:
        return None
    read, right = scales.reshape(-1).index_select(0, places.reshape(-1)).reshape(places.shape)
    asked = places[0] != places[1]
    hidden = MOVED * ((read != right) & asked).sum(1) < asked.sum(1)
    first = int(torch.where(hidden.any(), hidden.int().argmax(), -1))
    return None if first < 0 else names[first]


@lru_cache(maxsize=32)
def _readings(rows: int, columns: int, device: torch.device) -> tuple[list[str], Tensor]:
    """Wrong readings by name, and row-major places [2, readings, LOOKED_AT]: what is read, what should be."""
    found = [*_of_major("row", rows, columns), *_of_major("column", columns, rows), *_transposed(rows, columns)]
    names = [what for whats, _ in found for what in whats]
    if not found:
        return [], torch.empty(0)
    return names, torch.cat([places for _, places in found], 1).int().to(device)


Readings = tuple[list[str], Tensor]
"""Names, and the places that are read and should be, [2, names, LOOKED_AT]."""


def _of_major(major: str, lines: int, width: int) -> Iterator[Readings]:
    """Wrong readings of memory that holds ``lines`` of ``width`` elements, as places in row-major memory."""
    places, (down, across) = lines * width, _spread()

    def readings(what: str, by: list[int], read: Tensor, right: Tensor) -> Readings:
        both = torch.stack([read.expand(len(by), -1), right.expand(len(by), -1)])
        return [what.format(b) for b in by], both if major == "row" else both % width * lines + both // width

    shifts = list(range(1, min(SHIFTS, lines - -(-LEAST // width)) + 1))
    if shifts:
        by = torch.tensor(shifts)[:, None]
        right = _at(down, lines - by) * width + _at(across, width)
        yield readings(f"a shift by {{}} {major}s", shifts, right + by * width, right)
    shifts = list(range(1, min(SHIFTS, places - LEAST) + 1))
    if shifts:
        by = torch.tensor(shifts)[:, None]
        right = _at(across, places - by)
        yield readings(f"a shift by {{}} in {major}-major memory", shifts, right + by, right)
    others = {width + by for by in (-3, -2, -1, 1, 2, 3)} | {-(-width // 4) * 4} - {width}
    inside = {leading: min(lines - 1, (places - width) // leading) for leading in others if leading > 0}
    leading = sorted(length for length, whole in inside.items() if whole * width >= LEAST)
    if leading:
        line = 1 + _at(down, torch.tensor([inside[length] for length in leading])[:, None])
        place = _at(across, width)
        what = f"a leading dimension of {{}} for {width} in {major}-major memory"
        yield readings(what, leading, line * torch.tensor(leading)[:, None] + place, line * width + place)
    if min(lines, width) > 1 and places >= LEAST:
        line, place = _at(down, lines), _at(across, width)
        yield readings(f"{major}-major memory in the other order", [0], line + place * lines, line * width + place)


def _transposed(rows: int, columns: int) -> Iterator[Readings]:
    side, (down, across) = min(rows, columns), _spread()
    if side * (side - 1) >= LEAST:
        row, column = _at(down, side), _at(across, side)
        yield ["transposition"], torch.stack([column * columns + row, row * columns + column])[:, None]


def _spread() -> tuple[Tensor, Tensor]:
    """Pairs of numbers 0 .. 1 that lie evenly in whatever ranges they are stretched to (the R2 sequence)."""
    count = torch.arange(1, LOOKED_AT + 1, dtype=torch.float64)
    return count * 0.5698402910 % 1, count * 0.7548776662 % 1


def _at(spread: Tensor, size: Tensor | int) -> Tensor:
    return (spread * size).long()
