"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table and an empty one; cells hold neither bars nor line breaks, which would end them."""
    yield _line(head)
    yield "|" + "---|" * len(head)
    yield from map(_line, rows)
    yield ""


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
