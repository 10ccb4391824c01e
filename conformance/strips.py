"""Results too large to be compared at once: strip by strip, every element."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from torch import Tensor

from cases import Case
from cases.operands import Operands
from conformance.measure import SHOWN, measure_exact
from conformance.verdict import Measured, WrongElement
from reference import exact_block_matmul
from reference.blocks import BLOCK, recipe_of
from reference.tiles import Tile

AT_ONCE = 1 << 25
"""Results compared at a time; their float64 values and what is made of them take about 100 bytes each."""


def needs_strips(case: Case) -> bool:
    """Whether the result is too large to be compared at once; special values are never so many."""
    return case.problem.m * case.problem.n > AT_ONCE and not case.family.is_special


def measure_in_strips(out: Tensor, operands: Operands, recipe: str) -> Measured:
    """Tier exact, as `measure_exact` measures it, without the distance from the reference."""
    measured = []
    for strip in _strips(*out.shape):
        exact = exact_block_matmul(*_of(operands, strip, recipe), recipe=recipe)
        measured.append(_moved(measure_exact(out[strip.rows, strip.cols], exact, None), strip))
    return _together(measured)


def _strips(m: int, n: int) -> Iterator[Tile]:
    """Whole blocks of rows, or of columns where these are more."""
    size, other = max(m, n), min(m, n)
    step = max(1, AT_ONCE // (other * BLOCK)) * BLOCK
    for start in range(0, size, step):
        part, whole = slice(start, min(start + step, size)), slice(0, other)
        yield Tile(part, whole) if m >= n else Tile(whole, part)


def _of(operands: Operands, strip: Tile, recipe: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The rows of A and of B that ``strip`` is the product of, with their scales."""
    rule = recipe_of(recipe)
    of_a, of_b = _scales_of(strip.rows, rule.a_rows), _scales_of(strip.cols, rule.b_rows)
    return operands.A[strip.rows], operands.B[strip.cols], operands.As[of_a], operands.Bs[of_b]


def _scales_of(rows: slice, per_scale: int) -> slice:
    return slice(rows.start // per_scale, -(-rows.stop // per_scale))


def _moved(measured: Measured, strip: Tile) -> Measured:
    """The numbers of a strip with places as they are in the whole result."""
    down, right = strip.rows.start, strip.cols.start
    worst = measured.worst_at and (measured.worst_at[0] + down, measured.worst_at[1] + right)
    first = tuple(replace(w, row=w.row + down, column=w.column + right) for w in measured.first_wrong)
    return replace(measured, worst_at=worst, first_wrong=first)


def _together(strips: Sequence[Measured]) -> Measured:
    worst = max(strips, key=lambda strip: strip.worst_ulp)
    first: list[WrongElement] = [wrong for strip in strips for wrong in strip.first_wrong]
    return replace(
        worst,
        elements=sum(strip.elements for strip in strips),
        wrong=sum(strip.wrong for strip in strips),
        not_finite=sum(strip.not_finite for strip in strips),
        first_wrong=tuple(first[:SHOWN]),
    )
