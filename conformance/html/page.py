"""`report.html`: what one report says, for people."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.html.causes import Cause, cause_of, causes
from conformance.html.embedded import Embedding, in_turn
from conformance.html.grid import column_of, counted, grids
from conformance.html.headline import headline
from conformance.html.inert import inert, member
from conformance.html.looks import ANSWERS, RANKS, VERDICTS
from conformance.html.paths import exercises
from conformance.html.rendering import put, render
from conformance.html.reproduction import OPTIONS, Reproduction
from conformance.html.shapes import rows_of, shape_in
from conformance.records import Line, read_report
from conformance.statement.statement import statements
from conformance.statement.told import told

CAUSES = 40
"""Causes that are told; the list has all of their cases."""
ABOUT = (
    ("device_name", "device"),
    ("path", "path"),
    ("arch", "architecture"),
    ("torch", "torch"),
    ("runtime", "CUDA, ROCm or XPU"),
    ("driver", "driver"),
    ("python", "Python"),
    ("suite", "suite"),
    ("profile", "profile"),
    ("seed", "seed"),
    ("shard", "shard"),
)
FACTS = (
    ("expected", "owed"),
    ("detail", "came"),
    ("finding", "finding"),
    ("where", "where"),
    ("deviation", "deviation"),
    ("tier", "held to"),
    ("arithmetic", "arithmetic"),
    ("plan", "K blocks a chunk"),
    ("worst_ulp", "worst ULP"),
    ("err_over_bound", "error / bound"),
    ("rel_diff", "rel_diff"),
    ("path", "path"),
    ("seconds", "seconds"),
)
"""What is shown of a case when it is opened, and how it is called."""


def write_page(report: Path, page: Path) -> None:
    """Render the report ``report``, a file or its folder, finished or not, to the file ``page``.

    Raises BadReportError where it cannot be read, UsageError where the page cannot be written.
    """
    put(to_html(*read_report(report)), page)


def to_html(header: Line, lines: Sequence[Line], footer: Line | None) -> str:
    """The page of a report, as `read_report` gives it."""
    header, lines, footer = inert(header), inert(lines), inert(footer)
    cases = sorted(lines, key=lambda line: RANKS[line["verdict"]])
    rows = rows_of(line["id"] for line in cases)
    found, again = causes(cases), Reproduction(header)
    return render(
        "report.html.jinja",
        headline=headline(header, cases, footer),
        counts=[(verdict, count, VERDICTS[verdict], ANSWERS[verdict]) for verdict, count in counted(cases).items()],
        about=[(label, header[name]) for name, label in ABOUT if header.get(name) not in (None, "")],
        command=shlex.join(map(str, member(header, "command", list[str]()))),
        backends=header["backends"],
        header=header,
        footer=footer,
        statements=[told(statement) for statement in statements(header, lines, footer)],
        paths=exercises(header, cases),
        grids=grids(cases, rows),
        grouped=any(name not in (row, "") for name, row in rows.items()),
        looks=VERDICTS,
        causes=_told(found),
        lines_of=again.of,
        filters=_filters(cases, rows, found),
        total=len(cases),
        data={
            **Embedding([_row(line, rows) for line in cases]).document(in_turn(cause.members for cause in found)),
            "looks": {verdict: [look.symbol, look.tone] for verdict, look in VERDICTS.items()},
            "face": "verdict",
            "notes": ["reason"],
            "facts": FACTS,
            "facets": {"check": ["column", "check"], "shape": ["row", "size"]},
            "commands": again.commands,
            "specs": again.specs,
            "options": OPTIONS,
        },
    )


def _told(found: Sequence[Cause]) -> list[tuple[str, Sequence[Cause], int]]:
    """The causes under two titles, as many as are told, and how many more there are."""
    parts = {"What is wrong, by cause": True, "Known to be wrong": False}
    grouped = [(title, [cause for cause in found if cause.is_news == news]) for title, news in parts.items()]
    return [(title, group[:CAUSES], len(group) - CAUSES) for title, group in grouped]


def _row(line: Line, rows: Mapping[str, str]) -> Line:
    shape = shape_in(line["id"])
    name = shape.name if shape else ""
    return {
        **line,
        "column": column_of(line.get("check", "")),
        "row": rows[name],
        "size": name,
        "cause": cause_of(line),
    }


def _filters(cases: Sequence[Line], rows: Mapping[str, str], found: Sequence[Cause]) -> list[tuple[str, list[Any]]]:
    """The filters with their choices, in groups (name, choices)."""
    checks = sorted({line.get("check", "") for line in cases} - {""})
    columns = dict.fromkeys(column_of(check) for check in checks)
    families = [column for column in columns if not column.endswith("/*")]
    kinds = [column for column in columns if column.endswith("/*")]
    scenarios = [(kind, [kind, *(check for check in checks if column_of(check) == kind)]) for kind in kinds]
    return [
        ("verdict", [("", list(counted(cases)))]),
        ("backend", [("", list(dict.fromkeys(line["backend"] for line in cases)))]),
        ("check", [("values", families), *scenarios]),
        ("shape", [("", list(dict.fromkeys(rows.values())))]),
        ("cause", [("", [cause.name for cause in found])]),
    ]
