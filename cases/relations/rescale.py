"""Relations that multiply scales by powers of two: exact, whatever the arithmetic, while nothing leaves its range."""

from __future__ import annotations

import torch
from torch import Tensor

from cases.operands import Operands
from cases.problem import Problem
from cases.relations.related import Related
from cases.stream import Stream
from reference.blocks import BLOCK, by_row, recipe_of
from reference.dot import power_of_two

SMALLEST, LARGEST = 2.0**-80, 2.0**72
"""Scales, and products of two, that stay normal when moved by 2^8, times any block product of FP8 codes, added up."""
NO_ROOM = "no scale can be multiplied by a power of two here and surely stay normal"


def _movable(scales: Tensor) -> Tensor:
    """Mask of the scales that a power of two leaves normal, or does not change at all (0, inf, NaN)."""
    size = scales.abs()
    return (size == 0) | ~torch.isfinite(size) | ((size >= SMALLEST) & (size <= LARGEST))


def _extremes(scales: Tensor) -> tuple[Tensor, Tensor]:
    """Smallest and largest size of the scales that a power of two changes, as float64; 1 where there is none."""
    size = scales.double().abs().flatten()
    changing = size[(size > 0) & torch.isfinite(size)]
    return torch.aminmax(changing if changing.numel() else torch.ones_like(size))


def _exponents(stream: Stream, count: int, largest: int) -> Tensor:
    """Exponents 1 .. largest of either sign, never 0."""
    sign = 1 - 2 * stream.child("sign").below(2, count)
    return sign * (1 + stream.child("size").below(largest, count))


def move_power_of_two(operands: Operands, problem: Problem, stream: Stream) -> Related | str:
    """For every scale along K by itself, 2^e from the A scales to the B scales."""
    movable = _movable(operands.As).all(0) & _movable(operands.Bs).all(0)
    if not movable.any():
        return NO_ROOM
    exponents = _exponents(stream, problem.k_scales, 8) * movable
    sa, sb = operands.As * power_of_two(-exponents), operands.Bs * power_of_two(exponents)
    return Related(((operands.A, operands.B, sa, sb),))


def scale_rows(operands: Operands, problem: Problem, stream: Stream) -> Related | str:
    """Every row of A scales by its own 2^e, and with it a row of results, or an M block of them."""
    per_scale = recipe_of(problem.recipe).a_rows
    exponents = _exponents_by_block(operands.As, operands.Bs, (per_scale, per_scale), problem, stream)
    if not exponents.any():
        return NO_ROOM
    sa = operands.As * power_of_two(exponents)[:, None]
    gain = by_row(power_of_two(exponents).double()[:, None], problem.m, per_scale)
    return Related(((operands.A, operands.B, sa, operands.Bs),), gain=gain)


def scale_n_blocks(operands: Operands, problem: Problem, stream: Stream) -> Related | str:
    """The B scales of every N block by their own 2^e, and with them 128 columns of results."""
    per_scale = recipe_of(problem.recipe).b_rows
    exponents = _exponents_by_block(operands.Bs, operands.As, (per_scale, BLOCK), problem, stream)
    if not exponents.any():
        return NO_ROOM
    powers = power_of_two(exponents).repeat_interleave(BLOCK)[: problem.n]
    sb = operands.Bs * powers[::per_scale, None]
    return Related(((operands.A, operands.B, operands.As, sb),), gain=powers.double()[None, :])


def _exponents_by_block(
    scales: Tensor, opposite: Tensor, widths: tuple[int, int], problem: Problem, stream: Stream
) -> Tensor:
    """One exponent for so many rows of codes as the second of ``widths``, the first being those of one scale.

    It is 0 where a scale has no room, alone or beside those on the other side, and below 0 for float16 results, which
    may be near the end of their range already.
    """
    per_scale, width = widths
    block = torch.arange(scales.shape[0], device=scales.device) * per_scale // width
    products = [scales.double() * extreme for extreme in _extremes(opposite)]
    has_room = torch.stack([_movable(x).all(1) for x in (scales, *products)]).all(0)
    exponents = _exponents(stream, int(block[-1]) + 1, 3 if problem.out == "fp16" else 6)
    exponents[block[~has_room]] = 0
    return -exponents.abs() if problem.out == "fp16" else exponents
