"""Places that a failure has to name: the one special value, the one edited scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cases.problem import Problem

KINDS = (
    ("A", math.nan, False),
    ("B", math.nan, False),
    ("As", math.nan, False),
    ("Bs", math.nan, False),
    ("As", math.inf, False),
    ("Bs", math.inf, False),
    ("As", -math.inf, False),
    ("Bs", -math.inf, False),
    ("A", math.nan, True),
    ("As", math.nan, True),
    ("B", math.nan, True),
    ("Bs", math.nan, True),
)
"""Operand, value, and whether a whole row of the operand holds it."""
PLACES = 8
"""Places that every kind of special value is put at."""


@dataclass(frozen=True)
class Injection:
    """One special value: which operand it goes to, where (B and Bs by rows, as they lie in memory), and what it is."""

    operand: str
    row: int
    column: int
    value: float
    whole_row: bool = False
    where: str = ""

    def __str__(self) -> str:
        value = "NaN" if math.isnan(self.value) else f"{self.value:+}"
        return f"{value} in {self.where}"


def injections(_: Problem) -> int:
    """How many seeds differ."""
    return len(KINDS) * PLACES


def injection_of(problem: Problem, seed: int) -> Injection:
    """The special value that ``seed`` stands for: corners first, then places between."""
    operand, value, whole_row = KINDS[seed % len(KINDS)]
    rows, columns = shape_of(problem, operand)
    place = seed // len(KINDS)
    row, column = _spread(place, rows), _spread(place * 3 + 1, columns)
    return Injection(
        operand, row, column, value, whole_row, _named(problem, operand, row, None if whole_row else column)
    )


def _spread(place: int, size: int) -> int:
    return (size - 1, 0)[place] if place < 2 else place * 37 % size


def note_injection(problem: Problem, seed: int) -> str:
    """Which special value the seed plants."""
    return f"the one special value is {injection_of(problem, seed)}"


def needs_rows(problem: Problem) -> str | None:
    """There is a row to put something into."""
    return None if problem.m else "it needs a row, and M is 0"


def scales(problem: Problem) -> int:
    """How many scales both sides have."""
    return math.prod(shape_of(problem, "As")) + math.prod(shape_of(problem, "Bs"))


def edited_scale(problem: Problem, seed: int) -> tuple[str, int, int]:
    """The scale that the seed edits, as operand, row and place in K: every one of As in turn, then every one of Bs."""
    of_a = math.prod(shape_of(problem, "As"))
    operand, index = ("As", seed) if seed < of_a else ("Bs", seed - of_a)
    return operand, *divmod(index, problem.k_scales)


def note_edited_scale(problem: Problem, seed: int) -> str:
    """Which scale the seed edits."""
    return f"the one edited scale is {_named(problem, *edited_scale(problem, seed))}"


def _per_scale(problem: Problem, operand: str) -> int | None:
    """Rows of codes that share a scale, None where all do."""
    if problem.has_whole_scales:
        return 1 if problem.recipe == "rowwise" else None
    side = problem.recipe.split("-")[0 if operand[0] == "A" else 1]
    return 1 if side.startswith("1x") else 128


def shape_of(problem: Problem, operand: str) -> tuple[int, int]:
    """Rows and columns of the operand called A, B, As or Bs."""
    rows = problem.m if operand[0] == "A" else problem.n
    if operand in ("A", "B"):
        return rows, problem.k
    per_scale = _per_scale(problem, operand)
    return -(-rows // per_scale) if per_scale else 1, problem.k_scales


def _named(problem: Problem, operand: str, row: int, column: int | None) -> str:
    if operand in ("A", "B"):
        return f"{operand}[row {row}, {'every k' if column is None else f'k {column}'}]"
    per_scale = _per_scale(problem, operand)
    if per_scale is None:
        return operand
    what = "row" if per_scale == 1 else f"{'M' if operand == 'As' else 'N'} block"
    if problem.has_whole_scales:
        return f"{operand}[{what} {row}]"
    return f"{operand}[{what} {row}, {'every K block' if column is None else f'K block {column}'}]"
