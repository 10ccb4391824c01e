"""A comparison in a terminal."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from conformance.diff.kinds import KINDS
from conformance.diff.result import Diff, Group, shown
from conformance.plain import plain

COLOURS = {"fails": "bold red", "look": "yellow", "good": "green"}
IDS = 2
"""Ids that a group shows."""
GROUPS = 60
"""Groups that are shown; --json has every case."""


def render(found: Diff) -> None:
    """Print what differs between the runs, the groups of equal changes, and the line for a chat message."""
    console = Console(file=sys.stdout)
    if found.runs:
        console.print(_runs(found))
    groups = found.groups
    heading = ""
    for group in groups[:GROUPS]:
        if group.kind.name != heading:
            heading = group.kind.name
            _head(console, found, heading)
        _group(console, group)
    if len(groups) > GROUPS:
        console.print(f"... and {len(groups) - GROUPS} more groups (--json has every case)", highlight=False)
    for name, count in found.counts.items():
        if KINDS[name].weight == "count":
            console.print(f"{count} {KINDS[name].words}: {KINDS[name].meaning}", highlight=False)
    console.print(f"\n{escape(plain(found.sentence))}", highlight=False, soft_wrap=True)


def _runs(found: Diff) -> Table:
    columns = [Column(name, overflow="fold") for name in ("what differs", "OLD", "NEW")]
    table = Table(*columns, box=None, padding=(0, 2, 0, 0), header_style="bold")
    for row in found.runs:
        table.add_row(*(escape(plain(cell)) for cell in row))
    return table


def _head(console: Console, found: Diff, name: str) -> None:
    kind = KINDS[name]
    said = f"{kind.meaning}; {kind.do}"
    console.print(f"\n[{COLOURS[kind.weight]}]{kind.words}[/] ({found.counts[name]}): {escape(said)}", highlight=False)


def _group(console: Console, group: Group) -> None:
    values = f": {group.old} → {group.new}" if group.old or group.new else ""
    said = f"{group.backend}, {group.check or 'unknown check'}, {len(group.members)}{values}"
    console.print(f"  {escape(plain(said))}", highlight=False)
    detail = group.members[0].detail
    if detail and group.kind.weight in ("fails", "look"):
        console.print(f"    {escape(plain(detail))}", highlight=False)
    ids, hidden = shown(group.members, IDS)
    for each in ids:
        # An id stays in one piece, whatever the width, so that it can be copied.
        console.print(f"    {escape(plain(each))}", highlight=False, soft_wrap=True)
    if hidden:
        console.print(f"    ... and {hidden} more", highlight=False)
