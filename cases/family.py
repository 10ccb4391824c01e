"""What a value family is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cases.problem import Problem

Tier = Literal["exact", "bound", "declared"]


def always(_: Problem) -> str | None:
    """The condition of a family that fills every problem."""
    return None


def _any_seed(_: Problem) -> int | None:
    return None


def _nothing_to_note(_: Problem, __: int) -> str:
    return ""


@dataclass(frozen=True)
class Family:
    """A way to fill operands.

    ``why_not(problem)`` says why a problem cannot be filled so, or None. ``seeds(problem)`` is how many seeds differ,
    None for as many as there are numbers. ``note(problem, seed)`` says what a failure has to name, or "".
    ``is_special``: NaN, infinities, zeros, subnormals or overflow are what it is about. ``may_share_scales``: the
    codes say nothing about scales, so that those of the first row may take the place of all others.
    """

    name: str
    tier: Tier
    why_not: Callable[[Problem], str | None]
    catches: str
    seeds: Callable[[Problem], int | None] = _any_seed
    note: Callable[[Problem, int], str] = _nothing_to_note
    is_special: bool = False
    may_share_scales: bool = True
