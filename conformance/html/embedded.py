"""The cases of a page as one JSON document: columns instead of objects, every text once.

10,000 cases have to fit into 2 MiB, also when all of them are wrong in ways of their own. What was seen of each (texts,
first wrong elements, picture) is therefore kept as far as `EVIDENCE` bytes go, in the order that the caller gives.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

EVIDENCE = 800_000
"""Bytes for what tells one wrong case from another."""
CLIP = 400
"""Characters of a text that are kept."""
DENSE = 4
"""A column with a value in one of so many cases is a list; any other is an object by place."""

WORDS = (
    *("backend", "verdict", "change", "reason", "check", "column", "row", "size", "cause", "path", "expected", "tier"),
    *("arithmetic", "deviation", "reproduce"),
)
"""Members of a row that are texts out of a few."""
NUMBERS = ("worst_ulp", "err_over_bound", "rel_diff", "plan", "seconds")
SEEN = ("detail", "finding", "where", "old", "new")
"""Members that are texts of its own."""
FIRST = ("row", "column", "actual", "actual_bits", "expected", "expected_bits")

Row = Mapping[str, Any]


class Embedding:
    """Columns of cases. Strings are interned; an absent value is the empty one."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._places: dict[str, int] = {"": 0}
        self._pictures: dict[str, int] = {}
        self._left = EVIDENCE

    def document(self, priority: Iterable[int]) -> dict[str, Any]:
        """Everything, with the evidence of as many cases as there is room for; those of ``priority`` first."""
        columns = {name: _column([self._intern(row.get(name)) for row in self._rows], 0) for name in WORDS}
        columns |= {name: _column([_number(row.get(name)) for row in self._rows], None) for name in NUMBERS}
        parts = [[self._intern(part) for part in row["id"].split("/")] for row in self._rows]
        seen: dict[int, Any] = {}
        order = dict.fromkeys([*priority, *range(len(self._rows))])
        left_out = [index for index in order if not self._keep(index, seen)]
        for place, name in enumerate(SEEN):
            columns[name] = {index: kept[place] for index, kept in seen.items() if kept[place]}
        columns["first"] = {index: kept[-2] for index, kept in seen.items() if kept[-2]}
        columns["picture"] = {index: kept[-1] for index, kept in seen.items() if kept[-1] is not None}
        columns["cut"] = dict.fromkeys(left_out, 1)
        return {
            "count": len(self._rows),
            "ids": parts,
            "columns": {name: column for name, column in columns.items() if column},
            "words": [*WORDS, *SEEN],
            "pictures": [json.loads(text) for text in self._pictures],
            "strings": list(self._places),
        }

    def _intern(self, text: object) -> int:
        return self._places.setdefault(_clipped(text), len(self._places))

    def _keep(self, index: int, seen: dict[int, Any]) -> bool:
        """Note what was seen of a case, unless there is no room for it; whether nothing was left out."""
        row = self._rows[index]
        texts = [_clipped(row.get(name)) for name in SEEN]
        first, picture = _first(row), _picture(row)
        if not (any(texts) or first or picture):
            return True
        new = [text for text in texts if text not in self._places]
        new += [] if picture is None or picture in self._pictures else [picture]
        size = sum(len(json.dumps(text)) + 2 for text in new) + len(_packed(first)) + 40
        if size > self._left:
            return False
        self._left -= size
        place = None if picture is None else self._pictures.setdefault(picture, len(self._pictures))
        seen[index] = [*(self._intern(text) for text in texts), first, place]
        return True


def _column(values: Sequence[Any], absent: int | None) -> list[Any] | dict[int, Any]:
    filled = {index: value for index, value in enumerate(values) if value != absent}
    return list(values) if len(filled) * DENSE >= len(values) else filled


def in_turn(groups: Iterable[Sequence[int]]) -> Iterator[int]:
    """The first place of every group, then the second of each, and so on: none uses up the room of another."""
    for places in zip_longest(*groups):
        yield from (place for place in places if place is not None)


def script_safe(document: object) -> str:
    """JSON that may stand in a script element: no character that HTML could take for markup, and ASCII alone."""
    text = _packed(document)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _packed(document: object) -> str:
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


def _clipped(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= CLIP else text[: CLIP - 1] + "…"


def _number(value: object) -> float | int | None:
    """A finite number of three digits, which is all that a page shows."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value if isinstance(value, int) else float(f"{value:.3g}")


def _first(row: Row) -> list[list[Any]]:
    found = row.get("first_wrong")
    elements = found if isinstance(found, list | tuple) else ()
    return [[element.get(name, "") for name in FIRST] for element in elements if isinstance(element, dict)]


def _picture(row: Row) -> str | None:
    """The picture, packed, where it has the form of one: damage of a member must not damage a page."""
    picture = row.get("picture")
    if not isinstance(picture, dict):
        return None
    size, cell, rows = (picture.get(name) for name in ("size", "cell", "rows"))
    pairs = all(isinstance(pair, list) and [type(x) for x in pair] == [int, int] for pair in (size, cell))
    if not pairs or not isinstance(rows, list) or not all(isinstance(each, str) for each in rows):
        return None
    return _packed([size, cell, rows])
