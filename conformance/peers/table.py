"""The census as a document and as a table."""

from __future__ import annotations

import sys
from typing import Any

import torch

from conformance.peers import PEERS, SIZES, Size
from conformance.peers.census import FATES, Census


def document(census: Census) -> dict[str, Any]:
    """The census as JSON: ``peers`` in order, each with counts and names of faults at every size that was counted.

    A peer that lists one shape has the same entry for both sizes.
    """
    told = [name for name in PEERS if any(row.peer == name for row in census.rows)]
    return {
        "device": census.device,
        "torch": torch.__version__,
        "faults": len(census.faults),
        "peers": [_peer(census, name) for name in told],
        "alarms": census.alarms,
    }


def _peer(census: Census, name: str) -> dict[str, Any]:
    peer = PEERS[name]
    entry: dict[str, Any] = {"name": name, "source": peer.source, "what": peer.what, "uncertain": peer.uncertain}
    sizes: dict[str, Any] = {size: told for size in SIZES if (told := _size(census, name, size))}
    if peer.small == peer.large:
        sizes = {size: next(iter(sizes.values())) for size in SIZES}
    return entry | sizes


def _size(census: Census, name: str, size: Size) -> dict[str, Any] | None:
    row = census.row(name, size)
    if row is None:
        return None
    names = {fate: list(getattr(row, fate)) for fate in FATES}
    counts: dict[str, Any] = {fate: len(names[fate]) for fate in FATES}
    return {"shape": list(PEERS[name].shape(size)), **counts, "alarm": row.alarm, "names": names}


def render(census: Census) -> None:
    """Print one line a peer: what it catches, misses and cannot see, at either size."""
    from rich.console import Console
    from rich.table import Table

    console, told = Console(file=sys.stdout), document(census)
    sizes = [size for size in SIZES if any(size in entry for entry in told["peers"])]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("\npeer", no_wrap=True)
    for size in sizes:
        for fate in FATES:
            table.add_column(f"{size if fate == FATES[0] else ''}\n{fate}", justify="right", no_wrap=True)
    for entry in told["peers"]:
        table.add_row(
            entry["name"], *(str(entry[size][fate]) if size in entry else "" for size in sizes for fate in FATES)
        )
    console.print(table)
    say = (
        f"{told['faults']} faults on {told['device']}; honest kernel rejected by: {', '.join(told['alarms']) or 'none'}"
    )
    console.print(say, highlight=False, soft_wrap=True)
