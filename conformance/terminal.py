"""What every command that prints for people shares: consoles, words and colours of verdicts, text that is only text."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from conformance.verdict import Verdict

if TYPE_CHECKING:
    from rich.console import Console

HEADS: Mapping[Verdict, str] = {
    "passed": "pass",
    "rejected": "refused",
    "failed": "fail",
    "stale-deviation": "stale",
    "error": "error",
    "known-deviation": "known",
    "unsupported": "unsup",
    "not-run": "not run",
}
"""Verdicts as short as counts have room for, in the order in which they are told."""

STYLES: Mapping[str, str] = {
    "passed": "green",
    "rejected": "green",
    "failed": "bold red",
    "stale-deviation": "bold red",
    "error": "bold red",
    "known-deviation": "yellow",
    "not-run": "yellow",
}
GAP = "  "


ACTIONS = "GITHUB_ACTIONS"
"""Environment variable: "true" in a GitHub job, whose log takes lines of a certain form for commands."""


def plain(text: str) -> str:
    """``text`` on one line, without what a report could order a terminal, or the log of a job, to do."""
    shown = "".join(char if char.isprintable() else "�" for char in " ".join(text.split()))
    return re.sub(r":(?=:)|#(?=#\[)", r"\g<0> ", shown) if is_github_job() else shown


def is_github_job() -> bool:
    """Whether what is printed becomes the log of a GitHub job."""
    return os.environ.get(ACTIONS) == "true"


def console_on(stream: TextIO, **more: Any) -> Console:
    """A console that takes what it prints for text, and prints a question mark for what the stream cannot encode."""
    from rich.console import Console

    with contextlib.suppress(AttributeError, ValueError):
        stream.reconfigure(errors="replace")  # type: ignore[attr-defined]
    return Console(file=stream, highlight=False, markup=False, emoji=False, **more)


def is_live(stream: TextIO) -> bool:
    """Whether a line may be redrawn on ``stream``: a person watches, and no log keeps every state of it."""
    return stream.isatty() and not os.environ.get("CI") and os.environ.get("TERM") not in ("dumb", "unknown")


@dataclass(frozen=True)
class Piece:
    """Part of a line. Where not all fit, those of the highest ``rank`` go first; one of rank 0 stays."""

    text: str
    rank: int
    style: str = ""


def fit(pieces: Sequence[Piece], width: int) -> list[Piece]:
    """The ``pieces`` that fit ``width`` columns, in their order, with a `GAP` between two."""
    kept = [piece for piece in pieces if piece.text]
    while sum(len(GAP + piece.text) for piece in kept) - len(GAP) > width:
        worst = max(kept, key=lambda piece: piece.rank)
        if not worst.rank:
            break
        kept.remove(worst)
    return kept
