"""Which value the family `one-special` plants, and where. Needs no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cases.quantising.case import QuantCase

VALUES = (math.nan, math.inf, -math.inf)


@dataclass(frozen=True)
class Special:
    """The ``value`` at x[row, column]."""

    value: float
    row: int
    column: int

    def __str__(self) -> str:
        said = "NaN" if math.isnan(self.value) else f"{self.value:+}"
        return f"{said} at x[{self.row}, {self.column}]"


def special_of(case: QuantCase) -> Special:
    """What the seed stands for: each value in the last and the first element, then in places between."""
    place = case.seed // len(VALUES)
    row, column = _spread(place, case.rows), _spread(place, case.columns)
    return Special(VALUES[case.seed % len(VALUES)], row, column)


def _spread(place: int, size: int) -> int:
    return size - 1 if place == 0 else 0 if place == 1 else place * 37 % size


def note(case: QuantCase) -> str:
    """What a failure has to name, or nothing."""
    return f"the one special value is {special_of(case)}" if case.family.is_special and case.rows else ""
