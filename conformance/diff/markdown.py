"""A comparison as the comment of a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.diff.kinds import KINDS
from conformance.diff.result import Diff, Group
from conformance.markdown import code, inert, table

GROUPS = 60
"""Groups that the comment shows: hosts limit its length."""


def render(found: Diff) -> str:
    """The comment, as GitHub's Markdown."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Diff) -> Iterator[str]:
    yield f"**{inert(found.sentence)}**\n"
    if found.runs:
        yield from table(("what differs", "OLD", "NEW"), ([code(cell) for cell in row] for row in found.runs))
    groups = found.groups
    if groups:
        head = ("change", "backend", "check", "cases", "was → is", "example")
        yield from table(head, map(_row, groups[:GROUPS]))
    if len(groups) > GROUPS:
        yield f"... and {len(groups) - GROUPS} more groups\n"
    if groups:
        yield "<details><summary>what these changes mean</summary>\n"
        names = dict.fromkeys(group.kind.name for group in groups)
        yield from (f"* {KINDS[x].words}: {inert(KINDS[x].meaning)}; {inert(KINDS[x].do)}" for x in names)
        yield "\n</details>"


def _row(group: Group) -> Sequence[str]:
    values = f"{code(group.old)} → {code(group.new)}" if group.old or group.new else ""
    word = f"**{group.kind.words}**" if group.kind.weight == "fails" else group.kind.words
    about = (code(group.backend), code(group.check), str(len(group.members)))
    return word, *about, values, code(group.members[0].id)
