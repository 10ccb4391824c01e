"""The map of wrong elements that a record carries, drawn in characters for a terminal or a log. Needs no torch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

MOST = 64
"""Cells in either direction: a map is coarse, and a report might say anything."""
ROW = re.compile(r"(?P<cells>[.+#-]+)(\*(?P<count>[1-9]\d{0,3}))?")
LEGEND = {".": "none wrong", "-": "some", "+": "at least half", "#": "all"}
APART = 8
"""Columns of text from one label to the next, at least."""


def drawn(picture: Any) -> list[str]:
    """The lines of ``picture``, labelled with rows and columns, the last one saying what they mean.

    ``picture`` is the member of a case line: ``size`` [M, N], ``cell`` [height, width] and ``rows``, equal ones once
    with ``*count``. There are no lines where it is no map, nor ever other characters than these.
    """
    try:
        (m, n), (height, width) = picture["size"], picture["cell"]
        rows = list(_rows(picture["rows"]))
        fits = (
            min(m, n, height, width) > 0 and len(rows) == -(-m // height) and {len(x) for x in rows} == {-(-n // width)}
        )
    except (TypeError, KeyError, ValueError):
        return []
    return list(_lines(rows, (height, width))) if fits else []


def _rows(written: Any) -> Iterator[str]:
    """Every row of the map. Raises ValueError where it is none."""
    total = 0
    for each in written:
        match = ROW.fullmatch(each)
        count = int(match["count"] or 1) if match else 0
        total += count
        if match is None or max(total, len(match["cells"])) > MOST:
            raise ValueError(f"no row of a map: {each!r}")
        yield from [match["cells"]] * count


def _lines(rows: list[str], cell: tuple[int, int]) -> Iterator[str]:
    height, width = cell
    labels = ["row 0", *(str(i * height) for i in range(1, len(rows)))]
    margin = max(map(len, ("column", *labels)))
    yield f"{'column':>{margin}}  {_columns(len(rows[0]), width)}"
    yield from (f"{label:>{margin}}  {row}" for label, row in zip(labels, rows, strict=True))
    used = "".join(rows)
    meaning = ", ".join(f"{sign} {said}" for sign, said in LEGEND.items() if sign in used)
    yield f"{_span(height, 'row')} x {_span(width, 'column')} a character: {meaning}"


def _columns(count: int, width: int) -> str:
    """The numbers of some columns, each above its own cell."""
    line = ""
    for i in range(0, count, APART):
        if not line or len(line) < i:
            line = line.ljust(i) + str(i * width)
    return line


def _span(size: int, what: str) -> str:
    return f"{size} {what}{'s' * (size > 1)}"
