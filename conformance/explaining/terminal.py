"""An account for people: in 80 columns, without colour as good as with it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from conformance.explaining import told
from conformance.explaining.told import Document, Pairs
from conformance.maps import drawn
from conformance.terminal import STYLES, plain


def render(documents: Sequence[Document]) -> None:
    """Print the accounts one after the other."""
    console = Console(file=sys.stdout, highlight=False)
    for i, document in enumerate(documents):
        with console.capture() as captured:
            _print(console, document)
        # Tables fill their columns with blanks up to the last one.
        lines = (line.rstrip() for line in captured.get().splitlines())
        sys.stdout.write("\n".join([*([""] if i else []), *lines, ""]))


def _print(console: Console, document: Document) -> None:
    verdict, reason = str(document["verdict"]), str(document.get("reason", ""))
    said = f"{verdict}: {reason}" if reason else verdict
    console.print(Text(plain(f"{document['backend']}  {said}"), style=STYLES.get(verdict, "")), soft_wrap=True)
    console.print(_text(document["id"]), soft_wrap=True)
    _section(console, "question", told.question(document))
    _operands(console, document)
    _section(console, "owed", told.owed(document))
    _section(console, "came", told.came(document))
    _picture(console, document)
    _first_wrong(console, document)
    _section(console, "finding", iter([("fault", document.get("fault")), ("", document.get("finding"))]))
    _title(console, "again")
    for line in document["reproduce_with"]:
        # A command stays in one piece, whatever the width, so that it can be copied.
        console.print(_text(line, "  "), soft_wrap=True)


def _text(said: object, indent: str = "") -> Text:
    """Text of others, on one line and never markup."""
    return Text(indent + plain(str(said)))


def _title(console: Console, title: str) -> None:
    console.print(Text(title, style="bold"))


def _section(console: Console, title: str, pairs: Pairs) -> None:
    """A title and what belongs to it, each under its name; nothing at all where there is nothing to say."""
    rows = [(name, said) for name, said in pairs if said not in (None, "", [])]
    if rows:
        _title(console, title)
        _put(console, Table.grid(Column(no_wrap=True), Column(overflow="fold"), padding=(0, 2, 0, 0)), rows)


def _put(console: Console, table: Table, rows: Sequence[Sequence[object]]) -> None:
    for row in rows:
        table.add_row(*map(_text, row))
    console.print(Padding(table, (0, 0, 0, 2)))


def _operands(console: Console, document: Document) -> None:
    operands = document.get("operands", [])
    names = ["", "dtype", "shape", "strides", "offset", *(["values"] if any(x["values"] for x in operands) else [])]
    if not operands:
        return
    _title(console, "operands")
    rows = [[x["name"], *(x[name] or "" for name in names[1:])] for x in operands]
    _put(console, Table(*names, box=None, padding=(0, 2, 0, 0), header_style=""), rows)
    if document.get("input_digest"):
        console.print(_text(f"digest of their bytes: {document['input_digest']}", "  "))


def _picture(console: Console, document: Document) -> None:
    lines = drawn(document.get("picture"))
    if lines:
        shape = document.get("shape")
        _title(console, f"map of the wrong elements{f' ({plain(str(shape))})' if shape else ''}")
        # Its characters and digits are all that a map can have.
        console.print(Text("\n".join(f"  {line}" for line in lines)), soft_wrap=True)


def _first_wrong(console: Console, document: Document) -> None:
    rows = [row for wrong in document.get("first_wrong", []) for row in told.element(wrong)]
    if rows:
        _title(console, "the first wrong elements")
        right = [Column(name, justify="right") for name in ("row", "column")]
        others = [Column(), Column("decimal", justify="right"), Column("hex float"), Column("bits")]
        _put(console, Table(*right, *others, box=None, padding=(0, 2, 0, 0), header_style=""), rows)
