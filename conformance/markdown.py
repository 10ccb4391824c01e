"""Tables in Markdown, and text in it that is only text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from conformance.terminal import plain

LONGEST = 300
"""Characters of a text that a page shows."""
MEANT = re.compile(r"[^\w\s.,:;/+→-]|_")
"""Characters that Markdown, a table or a host's shorthand may take for something else."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table and an empty one; cells hold neither bars nor line breaks, which would end them."""
    yield _line(head)
    yield "|" + "---|" * len(head)
    yield from map(_line, rows)
    yield ""


def code(text: str) -> str:
    """``text`` as code, in HTML: in backticks a bar would still end the cell, and a backtick the code."""
    return f"<code>{inert(text)}</code>" if text else ""


def inert(text: str, longest: int = LONGEST) -> str:
    """``text`` with every character that could mean something as a character reference, which never does."""
    said = plain(text)
    short = said if len(said) <= longest else said[: longest - 3] + "..."
    return MEANT.sub(lambda match: f"&#{ord(match[0])};", short)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
