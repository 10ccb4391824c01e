"""Mistakes of the caller: one sentence each, naming the nearest valid choice."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UsageError(Exception):
    """The call itself is wrong. The message is one sentence that a person can act on; exit code 2."""


def unknown(what: str, word: str, choices: Iterable[str]) -> UsageError:
    """The error for a ``word`` that is none of the ``choices``: it names the nearest one, or all of a short list."""
    known = list(choices)
    near = get_close_matches(word, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(known[:8])}"
    return UsageError(f"unknown {what} {word!r}: {hint}")
