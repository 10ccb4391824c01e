"""Value families: what fills the operands of a problem, and how exactly the result is then known.

Only names, tiers and conditions live here, so that planning needs no torch; the tensors come from `cases.values`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cases.problem import Problem

Tier = Literal["exact", "bound", "declared"]
EXACT_SUM = 1 << 24
"""Integers up to here are float32 values, and so are all their sums up to here."""


def scale_limit(problem: Problem) -> int:
    """Largest integer scale of the tagged family: fewer for many K blocks, so that float16 results stay finite."""
    return 30 if problem.k_blocks <= 20 else 15


def _tagged_is_exact(problem: Problem) -> str | None:
    largest = 128 * scale_limit(problem) ** 2 * problem.k_blocks
    if largest <= EXACT_SUM:
        return None
    return f"its partial sums reach {largest}, above 2^24, so float32 no longer holds every one of them"


def _always(_: Problem) -> str | None:
    return None


@dataclass(frozen=True)
class Family:
    """A way to fill operands. ``why_not(problem)`` says why a problem cannot be filled so, or None."""

    name: str
    tier: Tier
    why_not: Callable[[Problem], str | None]
    catches: str


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
        ),
    )
}
