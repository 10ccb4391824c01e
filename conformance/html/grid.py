"""The map of a backend: which shapes fail in which checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from conformance.html.looks import RANKS, VERDICTS, Look
from conformance.html.shapes import shape_in
from conformance.records import Line

MAPS = 8
"""Backends that have a map of their own, those with the worst verdicts first."""


@dataclass(frozen=True)
class Cell:
    """The cases of one row and one column: how many have which verdict, worst first, and the filter for them."""

    counts: Mapping[str, int]
    href: str

    @property
    def verdict(self) -> str:
        """The worst one."""
        return next(iter(self.counts))

    @property
    def look(self) -> Look:
        """How the worst verdict looks."""
        return VERDICTS[self.verdict]

    @property
    def told(self) -> str:
        """Every count in words."""
        return ", ".join(f"{count} {verdict}" for verdict, count in self.counts.items())


@dataclass(frozen=True)
class Grid:
    """One backend: ``cells`` by (row, column)."""

    backend: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Mapping[tuple[str, str], Cell]
    counts: Mapping[str, int]


def column_of(check: str) -> str:
    """The column of a check: its own for a value family, one for all scenarios of a kind (``layout/*``)."""
    kind, slash, _ = check.partition("/")
    return f"{kind}/*" if slash else kind or "unknown"


def grids(cases: Sequence[Line], rows: Mapping[str, str]) -> list[Grid]:
    """A map for every backend, the worst first, at most `MAPS`. ``rows`` is that of `rows_of`."""
    found = [_grid(name, [line for line in cases if line["backend"] == name], rows) for name in _backends(cases)]
    return sorted(found, key=lambda grid: [-grid.counts.get(verdict, 0) for verdict in VERDICTS])[:MAPS]


def counted(cases: Sequence[Line]) -> dict[str, int]:
    """Cases by verdict, the worst first."""
    counts = Counter(line["verdict"] for line in cases)
    return dict(sorted(counts.items(), key=lambda item: RANKS[item[0]]))


def fragment(**filters: str) -> str:
    """The address, within a page, of the list with these filters set."""
    return "#" + urlencode({name: value for name, value in filters.items() if value}, quote_via=quote)


def _backends(cases: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line["backend"] for line in cases))


def _grid(backend: str, cases: Sequence[Line], rows: Mapping[str, str]) -> Grid:
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in cases:
        shape = shape_in(line["id"])
        place = rows[shape.name if shape else ""], column_of(line.get("check", ""))
        groups.setdefault(place, []).append(line)
    cells = {
        (row, column): Cell(counted(group), fragment(backend=backend, check=column, shape=row))
        for (row, column), group in groups.items()
    }
    used = {row for row, _ in groups}
    columns = sorted({column for _, column in groups}, key=lambda column: (column.endswith("/*"), column))
    return Grid(backend, [row for row in dict.fromkeys(rows.values()) if row in used], columns, cells, counted(cases))
