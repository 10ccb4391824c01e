"""Value families: what fills the operands of a problem, and how exactly the result is then known.

Only names, tiers and conditions live here, so that planning needs no torch; the tensors come from `cases.fill`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cases.problem import Problem

Tier = Literal["exact", "bound", "declared"]
EXACT_SUM = 1 << 24
"""Integers up to here are float32 values, and so are all their sums up to here."""


SCALE_LIMITS = ((30, 20), (15, 582), (6, 3640), (3, 1 << 31))
"""Largest tag, and the K blocks that it is good for."""


def scale_limit(problem: Problem) -> int:
    """Largest integer scale of the tagged family: fewer for many K blocks, so that float16 results stay finite."""
    return next(limit for limit, blocks in SCALE_LIMITS if problem.k_blocks <= blocks)


def _tagged_is_exact(problem: Problem) -> str | None:
    largest = 128 * scale_limit(problem) ** 2 * problem.k_blocks
    if largest <= EXACT_SUM:
        return None
    return f"its partial sums reach {largest}, above 2^24, so float32 no longer holds every one of them"


def _always(_: Problem) -> str | None:
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
    ``is_special``: NaN, infinities, zeros, subnormals or overflow are what it is about.
    """

    name: str
    tier: Tier
    why_not: Callable[[Problem], str | None]
    catches: str
    seeds: Callable[[Problem], int | None] = _any_seed
    note: Callable[[Problem, int], str] = _nothing_to_note
    is_special: bool = False


PLANNED = ("tagged-integers", "uniform-codes", "quantised-normal")
"""The families that profiles fill problems with."""
FAMILIES = {
    f.name: f
    for f in (
        Family(
            "tagged-integers",
            "exact",
            _tagged_is_exact,
            "any wrong scale, code, stride, tail or store: ternary data under distinct integer scales, every partial "
            "sum exact on every known unit in any order",
        ),
        Family(
            "uniform-codes",
            "bound",
            _always,
            "faults of magnitude and of scales: every finite code, independent scales with odd mantissas "
            "over six binades on each side",
        ),
        Family(
            "quantised-normal",
            "bound",
            _always,
            "faults on the data that engines see: normal values of varied magnitude through the real quantisers",
        ),
        Family(
            "special-values",
            "declared",
            _always,
            "NaN, infinities, zeros of either sign, subnormals and overflow in codes and scales, every pair of them; "
            "legal kernels differ here, so only a declared arithmetic is held to it",
            is_special=True,
        ),
    )
}
