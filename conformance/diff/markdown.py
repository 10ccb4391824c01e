"""A comparison as the comment of a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from conformance.diff.kinds import KINDS
from conformance.diff.result import Diff, Group
from conformance.markdown import table
from conformance.plain import plain

GROUPS = 60
"""Groups that the comment shows: hosts limit its length."""
LONGEST = 300
MEANT = re.compile(r"[^\w\s.,:;/+→-]|_")
"""Characters that Markdown, a table or a host's shorthand may take for something else."""


def render(found: Diff) -> str:
    """The comment, as GitHub's Markdown."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Diff) -> Iterator[str]:
    yield f"**{_text(found.sentence)}**\n"
    if found.runs:
        yield from table(("what differs", "OLD", "NEW"), ([_code(cell) for cell in row] for row in found.runs))
    groups = found.groups
    if groups:
        head = ("change", "backend", "check", "cases", "was → is", "example")
        yield from table(head, map(_row, groups[:GROUPS]))
    if len(groups) > GROUPS:
        yield f"... and {len(groups) - GROUPS} more groups\n"
    if groups:
        yield "<details><summary>what these changes mean</summary>\n"
        names = dict.fromkeys(group.kind.name for group in groups)
        yield from (f"* {KINDS[x].words}: {_text(KINDS[x].meaning)}; {_text(KINDS[x].do)}" for x in names)
        yield "\n</details>"


def _row(group: Group) -> Sequence[str]:
    values = f"{_code(group.old)} → {_code(group.new)}" if group.old or group.new else ""
    word = f"**{group.kind.words}**" if group.kind.weight == "fails" else group.kind.words
    about = (_code(group.backend), _code(group.check), str(len(group.members)))
    return word, *about, values, _code(group.members[0].id)


def _code(text: str) -> str:
    """As HTML: in backticks a bar would still end the cell, and a backtick the code."""
    return f"<code>{_text(text)}</code>" if text else ""


def _text(text: str) -> str:
    """``text`` with every character that could mean something as a character reference, which never does."""
    said = plain(text)
    short = said if len(said) <= LONGEST else said[: LONGEST - 3] + "..."
    return MEANT.sub(lambda match: f"&#{ord(match[0])};", short)
