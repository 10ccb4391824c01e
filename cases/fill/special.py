"""NaN, infinities, zeros, subnormals and underflow."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from cases.case import Case
from cases.fill.exact import scale_shapes, tagged_integers
from cases.fill.values import Values
from cases.places import injection_of
from cases.stream import Stream
from reference.blocks import recipe_of

SPECIAL_CODES = (1.0, 0.0, -0.0, -1.0, 2.0**-9, 448.0, -448.0, math.nan)
SPECIAL_SCALES = (1.0, math.nan, math.inf, -math.inf, 0.0, 1e-40, 1e-45, 3e38, 1e38, 1e-38, 1e-30, 1e30, -1.0)


def special_values(case: Case, stream: Stream) -> Values:
    """One special product an element, all else zero: codes change fastest over rows and columns, then the scales.

    The seed turns the cycles, so that 13 of them set every scale beside every other one where one is all a side has.
    """
    problem = case.problem
    recipe, device = recipe_of(problem.recipe), stream.device
    sides = []
    of_a, of_b = scale_shapes(case)
    for rows, per_scale, shape, dtype, start in (
        (problem.m, recipe.a_rows, of_a, problem.a_dtype, 4 * case.seed),
        (problem.n, recipe.b_rows, of_b, problem.b_dtype, case.seed),
    ):
        codes = torch.zeros(rows, problem.k, dtype=dtype, device=device)
        codes[:, 0] = _cycle(SPECIAL_CODES, rows, 1, case.seed, device).to(dtype)
        every = len(SPECIAL_CODES) if per_scale == 1 else 1
        scales = _cycle(SPECIAL_SCALES, shape[0], every, start, device)[:, None]
        sides.append((codes, scales.expand(shape).contiguous()))
    (a, sa), (b, sb) = sides
    return a, b, sa, sb


def _cycle(values: tuple[float, ...], count: int, every: int, start: int, device: torch.device) -> Tensor:
    index = (torch.arange(count, device=device) // every + start) % len(values)
    return torch.tensor(values, dtype=torch.float32, device=device)[index]


def one_nan(case: Case, stream: Stream) -> Values:
    """Tagged integers, and one NaN or infinity where the seed says."""
    a, b, sa, sb = tagged_integers(case, stream)
    injection = injection_of(case.problem, case.seed)
    target = {"A": a, "B": b, "As": sa, "Bs": sb}[injection.operand]
    value = torch.tensor(injection.value, device=stream.device).to(target.dtype)
    place = target.view(torch.uint8) if target.element_size() == 1 else target
    bits = value.view(torch.uint8) if target.element_size() == 1 else value
    if injection.whole_row:
        place[injection.row] = bits
    else:
        place[injection.row, injection.column] = bits
    return a, b, sa, sb


TINY = (2.0**-140, 1e-23, 2.0**-120, 2.0**-149)
OTHER = (1e-23, 1.0, 2.0**100, 2.0**-20, 2.0**60)


def subnormal_scales(case: Case, stream: Stream) -> Values:
    """Scales, or products of scales, that are subnormal or underflow, over ternary data."""
    a, b, sa, sb = tagged_integers(case, stream)
    tiny, other = (
        torch.tensor(values, dtype=torch.float32, device=stream.device)[
            (torch.arange(scale.shape[0], device=stream.device) + case.seed) % len(values)
        ][:, None]
        for values, scale in ((TINY, sa), (OTHER, sb))
    )
    return a, b, sa * tiny, sb * other
