"""The rows of a report as tables that fit a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.terminal import HEADS, STYLES, plain
from conformance.verdict_rows import Row

if TYPE_CHECKING:
    from rich.align import VerticalAlignMethod
    from rich.console import Console
    from rich.table import Table


def short(number: float | None) -> str:
    """At most six characters: ``0.91``, ``2e-07``, ``3.2e+11`` as ``3.2e11``."""
    if number is None:
        return ""
    return f"{number:.2g}".replace("e+", "e").replace("e0", "e").replace("e-0", "e-")


@dataclass(frozen=True)
class Column:
    """A column of numbers: its head, its cell of a row, and the colour of its cells."""

    head: str
    cell: Callable[[Row], str]
    style: str = ""

    def width(self, rows: Sequence[Row]) -> int:
        """Columns of the terminal that the head and the cells of ``rows`` take."""
        return max(map(len, [*self.head.split("\n"), *map(self.cell, rows)]))


def _count(verdict: str) -> Callable[[Row], str]:
    return lambda row: str(row.counts.get(verdict) or "")


COUNTS = tuple(Column(head, _count(verdict), STYLES.get(verdict, "")) for verdict, head in HEADS.items())
NUMBERS = (
    Column("bits", lambda row: str(row.bits or "")),
    Column("err/\nbound", lambda row: short(row.err_over_bound)),
    Column("rel_\ndiff", lambda row: short(row.rel_diff)),
    Column("ulp", lambda row: short(row.worst_ulp)),
    Column("s", lambda row: f"{row.seconds:.1f}" if row.seconds < 1000 else f"{row.seconds:.0f}"),
)
SHARE = 3
"""Where not all fits, the names of checks take at most one of so many parts of the width."""


def print_tables(console: Console, rows: Sequence[Row]) -> None:
    """Print ``rows`` in one table; where its heads do not fit, in some of counts and some of numbers."""
    counts, numbers = ([c for c in columns if any(map(c.cell, rows))] for columns in (COUNTS, NUMBERS))
    names = max(len(_name(row)) for row in rows)
    parts = _parts([*counts, *numbers], rows, console.width - names)
    if len(parts) > 1:
        names = min(names, console.width // SHARE)
        parts = [part for columns in (counts, numbers) for part in _parts(columns, rows, console.width - names)]
    for number, columns in enumerate(parts):
        if number:
            console.print()
        _print_table(console, rows, columns, names)


def _parts(columns: Sequence[Column], rows: Sequence[Row], room: int) -> list[list[Column]]:
    """The ``columns`` in runs that fit ``room``."""
    parts: list[list[Column]] = [[]]
    left = room
    for column in columns:
        left -= 1 + column.width(rows)
        if left < 0 and parts[-1]:
            parts.append([])
            left = room - 1 - column.width(rows)
        parts[-1].append(column)
    return parts


def _name(row: Row) -> str:
    return f"  {plain(row.check)}"


def _print_table(console: Console, rows: Sequence[Row], columns: Sequence[Column], names: int) -> None:
    """One grid a group, all with the same widths; where one is too small, the names of checks give way, and no head."""
    from rich.text import Text

    def grid(style: str = "", vertical: VerticalAlignMethod = "top") -> Table:
        from rich.table import Table

        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(width=names, overflow="fold", style=style)
        for column in columns:
            table.add_column(width=column.width(rows), justify="right", vertical=vertical, no_wrap=True, style=style)
        return table

    heads = grid("bold", "bottom")
    heads.add_row("", *(column.head for column in columns))
    console.print(heads)
    for group, members in _grouped(rows).items():
        console.print(Text(plain(group), "bold"))
        table = grid()
        for row in members:
            table.add_row(_name(row), *(Text(column.cell(row), column.style) for column in columns))
        console.print(table)


def _grouped(rows: Sequence[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    return groups
