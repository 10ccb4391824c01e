"""A report in a terminal: what was judged, the table of verdicts, paths, causes of failures, and the headline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from conformance.causes import Cause, causes_of
from conformance.conclude import CONFORMS, WRONG, Conclusion
from conformance.coverage import told_paths
from conformance.statement.printed import print_statements
from conformance.terminal import STYLES, plain
from conformance.verdict_rows import rows_of
from conformance.verdict_table import print_tables

if TYPE_CHECKING:
    from rich.console import Console

    from conformance.statement.statement import Statement

Line = dict[str, Any]
SHOWN = 8
"""Causes of failures that the summary tells."""
COLOURS = {CONFORMS: "bold green", WRONG: "bold red"}


def print_summary(
    console: Console,
    header: Line,
    lines: Sequence[Line],
    *,
    conclusion: Conclusion,
    stated: Sequence[Statement] = (),
    took: str = "",
    where: Path | None = None,
) -> None:
    """Print the report with this ``header`` and these case ``lines``, which lies at ``where`` if anywhere.

    What is ``stated`` of its kernels stands below, and what it ``took``.
    """
    for text in _about(header):
        console.print(text)
    if lines:
        console.print()
        print_tables(console, rows_of(header, lines))
        console.print()
    console.print(plain(told_paths(lines)))
    if took:
        console.print(took, soft_wrap=True)
    causes = causes_of(lines)
    for cause in causes[:SHOWN]:
        _print_cause(console, header, cause)
    hidden = causes[SHOWN:]
    if hidden:
        cases = sum(len(cause.members) for cause in hidden)
        console.print(f"... and {_counted(len(hidden), 'more cause')} of {_counted(cases, 'case')}")
    if stated:
        console.print()
        print_statements(console, stated, brief=True)
    console.print()
    # In one piece, so that it can be copied, whatever the width.
    console.print(plain(conclusion.sentence), style=COLOURS.get(conclusion.code, "bold yellow"), soft_wrap=True)
    if where:
        console.print(f"records: {plain(str(where))}", soft_wrap=True)


def _about(header: Line) -> Iterator[str]:
    device = header.get("device_name") or header.get("arch", "")
    profile, seed = f"profile {header['profile']}", f"seed {header['seed']}"
    yield plain(" · ".join((header["path"], device, f"torch {header['torch']}", profile, seed)))
    for name, facts in header["backends"].items():
        told = ", ".join(f"{key} {value}" for key, value in facts.items())
        yield plain(f"{name}: {told}" if told else name)


def _print_cause(console: Console, header: Line, cause: Cause) -> None:
    from rich.text import Text

    style = STYLES.get(cause.verdict, "")
    said = plain(f"{_counted(len(cause.members), 'case')} · {cause.backend} · {cause.name}")
    console.print()
    console.print(Text.assemble((cause.verdict, style), " ", said))
    if cause.sentence:
        for each in wrap(plain(cause.sentence), console.width - 2):
            console.print(f"  {each}")
    console.print(f"  {plain(cause.reproduction(header))}", soft_wrap=True)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
