"""The sensitivity document as tables for people."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

UNITS = ((1e-6, 1e9, " ppb"), (1e-4, 1e6, " ppm"), (1.0, 1e2, " %"), (float("inf"), 1.0, "x"))
"""Amplitudes below a limit, times a factor, in a unit that people read."""


def amount(epsilon: float | None, document: dict[str, Any]) -> str:
    """An amplitude as parts per billion or million, percent, or times the value; ``never`` for None."""
    if epsilon is None:
        return "never"
    at_most = "≤ " if epsilon <= document["smallest_tried"] else ""
    factor, unit = next((factor, unit) for limit, factor, unit in UNITS if epsilon < limit)
    digits = f"{epsilon * factor:.0f}" if epsilon * factor >= 10 else f"{epsilon * factor:.2g}"
    return f"{at_most}{digits}{unit}"


def cells(document: dict[str, Any], kind: str, judge: str, out: str) -> list[str]:
    """The row of a table: what ``judge`` detects of ``kind`` at every size of the document."""
    row = (kind, judge, out)
    found = {t["size"]: t for t in document["thresholds"] if (t["kind"], t["judge"], t["out"]) == row}
    return [amount(found[size]["epsilon"], document) if size in found else "" for size in document["sizes"]]


def render(document: dict[str, Any]) -> None:
    """Print a table for every kind of fault: a row a judge, a column a size, the smallest detected amplitude."""
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout)
    console.print(
        f"{document['path']} · {document['device_name']} · torch {document['torch']} · the smallest fault that is "
        f"detected in M = N outputs a side, K = {document['k']}",
        highlight=False,
        soft_wrap=True,
    )
    for out in document["outs"]:
        for kind, says in document["kinds"].items():
            console.print(f"\n{kind}: {says}, stored as {out}", highlight=False, soft_wrap=True)
            table = Table("judge", *map(str, document["sizes"]), box=None, padding=(0, 2, 0, 0), header_style="bold")
            for judge in document["judges"]:
                table.add_row(judge, *cells(document, kind, judge, out))
            console.print(table)
    console.print()
    for note in notes(document):
        console.print(note, highlight=False, soft_wrap=True)


def notes(document: dict[str, Any]) -> Iterator[str]:
    """Who judges and on which data, and how to read the figures."""
    for name, judge in document["judges"].items():
        yield f"{name}: {judge['says']} ({judge['family']})"
    yield "metrics compare with a float32 loop over the same quantised operands, more than most tests grant them"
    yield f"never: up to {document['largest_tried']:.0f}x; 2x is an error of twice the value"
    unconfirmed = sorted({t["size"] for t in document["thresholds"] if not t["confirmed"]})
    if unconfirmed:
        yield f"bits at {', '.join(map(str, unconfirmed))}: compared with bits emulated once, not by the tier itself"
