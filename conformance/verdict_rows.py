"""Counts by platform path, backend and check, with the worst numbers of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Line = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One check of one backend on one path: counts by verdict, bits explained, the worst numbers, seconds."""

    path: str
    backend: str
    check: str
    counts: Mapping[str, int]
    bits: int
    err_over_bound: float | None
    rel_diff: float | None
    worst_ulp: int | None
    seconds: float

    @property
    def group(self) -> str:
        """The platform path and the backend."""
        return f"{self.path} · {self.backend}"


def rows_of(header: Line, lines: Sequence[Line]) -> list[Row]:
    """The rows in the order of paths and backends; a case that was not run belongs to the path of its report."""
    groups: dict[tuple[str, str, str], list[Line]] = {}
    for line in lines:
        key = (line.get("path") or header["path"], line["backend"], check_of(line))
        groups.setdefault(key, []).append(line)
    order = {name: place for place, name in enumerate(header["backends"])}
    keys = sorted(groups, key=lambda key: (key[0], order.get(key[1], len(order)), key[1]))
    return [_row(key, groups[key]) for key in keys]


def _row(key: tuple[str, str, str], lines: Sequence[Line]) -> Row:
    worst = {name: _worst(lines, name) for name in ("err_over_bound", "rel_diff", "worst_ulp")}
    explained = sum(line.get("plan") is not None for line in lines)
    counts = dict(Counter(str(line["verdict"]) for line in lines))
    return Row(*key, counts, explained, **worst, seconds=sum(line["seconds"] for line in lines))


def _worst(lines: Sequence[Line], name: str) -> Any:
    return max((line[name] for line in lines if line.get(name) is not None), default=None)


def check_of(line: Line) -> str:
    """What a case checks: its values or its scenario where a product may come, the refusal elsewhere."""
    expected = str(line.get("expected", ""))
    if expected not in ("", "compute", "right or refused", "absent"):
        return expected
    kind, _, name = str(line.get("check", "")).partition("/")
    return kind if not name or kind == "malformed" else f"{kind}s"
