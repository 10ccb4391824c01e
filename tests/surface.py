"""What a wrong call may leave behind and say: nothing, and one sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

Judge = Callable[..., int]
"""What the fixture `answered` gives: from arguments to the exit code, after all the rest was held to the rules."""


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything in ``folder``, by name."""
    found: dict[str, bytes | None] = {}
    for root, folders, files in os.walk(folder):
        for path in (Path(root, name) for name in (*folders, *files)):
            found[str(path.relative_to(folder))] = path.read_bytes() if path.is_file() else None
    return found


def changes(before: dict[str, bytes | None], after: dict[str, bytes | None]) -> set[str]:
    """Names of what is new, gone or different."""
    return {name for name in before.keys() | after.keys() if before.get(name, b"-") != after.get(name, b"-")}


def is_one_sentence(err: str) -> bool:
    """Ours is one line; that of a wrong option, which typer draws, has the usage above it.

    A run that goes on with another says so before it looks at what that was asked for.
    """
    lines = [line for line in err.splitlines() if not line.startswith("conformance: going on with ")]
    return (len(lines) == 1 and lines[0].startswith("conformance: ")) or "Usage: conformance" in err
