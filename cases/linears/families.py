"""What fills the input, the weight and the bias of a linear. Names and conditions alone, so that it needs no torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cases.conditions import EXACT_SUM, EXACT_UNIT
from cases.family import Tier, always
from cases.problem import Problem

LARGEST = 448
"""The code that one element of every group of x has, so that its scale is a power of two however it is computed."""
X_SPREAD, W_TAGS = 4, 6
"""How far the scales of x spread, and the largest integer scale of the weight."""


def _bounded(a: int, b: int) -> Callable[[Problem], str | None]:
    """The condition of integer codes to ``a`` and ``b``: sums inside a block and over all of them are exact."""
    of_block = 127 * a * b + LARGEST * b
    assert of_block <= EXACT_UNIT

    def why_not(problem: Problem) -> str | None:
        if of_block * X_SPREAD * W_TAGS * problem.k_blocks <= EXACT_SUM:
            return None
        return "its partial sums exceed 2^24, so float32 no longer holds every one of them"

    return why_not


def _needs_rows(problem: Problem) -> str | None:
    return _bounded(1, 1)(problem) if problem.m else "it needs a row, and M is 0"


@dataclass(frozen=True)
class LinearFamily:
    """A way to fill a linear. ``codes`` are the largest integers of x and of the weight, None for every code."""

    name: str
    tier: Tier
    why_not: Callable[[Problem], str | None]
    catches: str
    codes: tuple[int, int] | None = (1, 1)
    is_special: bool = False


_FAMILIES = (
    LinearFamily(
        "tagged-rows",
        "exact",
        _bounded(1, 1),
        "rows, groups or columns that are taken for others, a bias of another column, rounded twice or at the wrong "
        "place: ternary data under scales of their own, every sum exact on every known unit",
    ),
    LinearFamily(
        "integer-codes",
        "exact",
        _bounded(11, 3),
        "elements lost or of the wrong sign between quantiser and product: integers to 11, none of them zero",
        codes=(11, 3),
    ),
    LinearFamily(
        "ties",
        "exact",
        _bounded(12, 3),
        "a quantiser that rounds otherwise than to nearest even: values halfway between two codes",
        codes=(12, 3),
    ),
    LinearFamily(
        "lone-blocks",
        "exact",
        _bounded(1, 1),
        "a scale that several groups of a row, or rows, share: groups up to 2^17 apart, and one K block a column",
    ),
    LinearFamily(
        "zero-groups",
        "exact",
        _bounded(1, 1),
        "groups and rows of zeros, which give 0 / 0 or another scale, and then the bias alone",
    ),
    LinearFamily(
        "one-special",
        "exact",
        _needs_rows,
        "a NaN or an infinity in x that is lost on the way, or that reaches other rows than its own",
        is_special=True,
    ),
    LinearFamily(
        "uniform-codes",
        "bound",
        always,
        "faults of magnitude: every code of x and of the weight, under scales of 24 bits of the weight",
        codes=None,
    ),
)
FAMILIES = {family.name: family for family in _FAMILIES}
