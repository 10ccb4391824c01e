"""Statements in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from conformance.conclude import CONFORMS
from conformance.statement.statement import Statement
from conformance.statement.told import HEAD, lists, rows, sentence, title
from conformance.terminal import plain

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"holds": "green", "contradicted": "bold red", "holds but for exceptions": "yellow"}
NARROW = 12
"""Columns that a cell is never made narrower than."""


def print_statements(console: Console, found: Sequence[Statement], *, brief: bool = False) -> None:
    """Print each; where it is ``brief``, of a kernel that has none in one line what is missing first."""
    for number, statement in enumerate(found):
        if brief and statement.code != CONFORMS:
            _print_brief(console, statement)
            continue
        if number or brief:
            console.print()
        _print(console, statement)


def _print_brief(console: Console, statement: Statement) -> None:
    wrong = sum(claim.evidence.count("wrong") for claim in statement.claims[:1])
    first, *more = [*([f"it is wrong in {wrong:,} case{'s' * (wrong != 1)}"] if wrong else []), *statement.lacking]
    rest = f" (and {len(more)} more: see `conformance statement`)" if more else ""
    console.print(plain(f"no statement about {statement.backend}: {first}{rest}"), soft_wrap=True)


def _print(console: Console, statement: Statement) -> None:
    from rich.text import Text

    stated = statement.code == CONFORMS
    console.print(Text(plain(title(statement)), "bold"))
    _print_wrapped(console, sentence(statement))
    if stated:
        for name, value in statement.about.items():
            console.print(f"  {plain(f'{name}: {value}')}", soft_wrap=True)
        console.print()
        _print_claims(console, statement)
    for heading, sentences in lists(statement):
        console.print()
        console.print(Text(heading, "bold"))
        for each in sentences:
            _print_wrapped(console, each)


def _print_wrapped(console: Console, text: str) -> None:
    # In whole words, so that ids can be copied.
    for line in wrap(plain(text), console.width - 2, break_long_words=False, break_on_hyphens=False):
        console.print(f"  {line}", soft_wrap=True)


def _print_claims(console: Console, statement: Statement) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in HEAD:
        table.add_column(overflow="fold", min_width=NARROW)
    table.add_row(*(Text(head, "bold") for head in HEAD))
    for name, said, found, told in rows(statement):
        table.add_row(plain(name), said, Text(found, STYLES.get(found, "")), plain(told))
    console.print(table)
