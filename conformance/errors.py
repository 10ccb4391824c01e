"""Mistakes of the caller: one sentence each, naming the nearest valid choice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches


class UsageError(Exception):
    """The call itself is wrong. The message is one sentence that a person can act on; exit code 2."""


def unknown(what: str, word: str, choices: Iterable[str]) -> UsageError:
    """The error for a ``word`` that is none of the ``choices``: it names the nearest one, or all of a short list."""
    known = list(choices)
    return UsageError(f"unknown {what} {word!r}" + (nearest(word, known) or f": choose one of {', '.join(known[:8])}"))


def nearest(word: str, choices: Sequence[str], spelled: Callable[[str], str] = str) -> str:
    """What to add to a sentence about a wrong ``word``: the choice that is like it, as ``spelled``, or nothing."""
    near = get_close_matches(word, choices, n=1, cutoff=0.5)
    return f": did you mean {spelled(near[0])!r}?" if near else ""
