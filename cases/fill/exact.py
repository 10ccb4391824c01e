"""Dense data whose every partial sum is exact on any hardware, in any order."""

from __future__ import annotations

import torch
from torch import Tensor

from cases.case import Case
from cases.conditions import SUBNORMALS, integer_limits, scale_limit, subnormal_scale_limit
from cases.fill.tags import tags
from cases.fill.values import Values
from cases.places import edited_scale
from cases.stream import Stream
from reference.blocks import recipe_of
from reference.dot import power_of_two

LEAST_SCALE = -7
"""Exponent of the smallest scale of `integer-codes`: products of two are normal in float16."""
UNIT = -9
"""Exponent of the smallest subnormal of e4m3fn, to which scales bring those of the other formats."""


def scale_shapes(case: Case) -> tuple[tuple[int, int], tuple[int, int]]:
    """Shapes of As and Bs."""
    problem, recipe = case.problem, recipe_of(case.problem.recipe)
    return recipe.a_scale_shape(problem.m, problem.k), recipe.b_scale_shape(problem.n, problem.k)


def tagged_integers(case: Case, stream: Stream) -> Values:
    """Codes 0 and +-1 under integer scales that differ between all neighbours (arithmetic: any order is exact)."""
    problem = case.problem
    a = ternary(stream.child("A"), problem.m, problem.k, problem.a_dtype)
    b = ternary(stream.child("B"), problem.n, problem.k, problem.b_dtype)
    return a, b, *tag_scales(case, stream, scale_limit(problem))


def tag_scales(case: Case, stream: Stream, limit: int) -> tuple[Tensor, Tensor]:
    """Tags up to ``limit`` for both sides."""
    of_a, of_b = scale_shapes(case)
    return tags(stream.child("As"), *of_a, limit=limit), tags(stream.child("Bs"), *of_b, limit=limit)


def ternary(stream: Stream, rows: int, k: int, dtype: torch.dtype) -> Tensor:
    """Codes 0 (half of them), +1 and -1."""
    one, minus_zero = map(int, torch.tensor([1.0, -0.0]).to(dtype).view(torch.uint8))
    octets = stream.octets(rows, k)
    # In bytes all the way: as floats, the operands of the largest cases would not fit.
    unit, sign = (octets >> 1) & 1, (octets & 1) << 7
    return (unit * one | (sign if minus_zero else sign * unit)).view(dtype)


def signs(stream: Stream, *shape: int) -> Tensor:
    """+1 and -1, float32."""
    return 1.0 - 2.0 * (stream.octets(*shape) & 1).float()


def integer_codes(case: Case, stream: Stream) -> Values:
    """Nonzero integers, as large as the K blocks allow, under powers of two: a lost product or a sign always shows."""
    problem = case.problem
    of_a, of_b = scale_shapes(case)
    a_limit, b_limit = integer_limits(problem)
    a = _integers(stream.child("A"), problem.m, problem.k, problem.a_dtype, limit=a_limit)
    b = _integers(stream.child("B"), problem.n, problem.k, problem.b_dtype, limit=b_limit)
    return a, b, _powers(stream.child("As"), *of_a), _powers(stream.child("Bs"), *of_b)


def _integers(stream: Stream, rows: int, k: int, dtype: torch.dtype, *, limit: int) -> Tensor:
    octets = stream.octets(rows, k)
    sign = 1.0 - 2.0 * (octets & 1).float()
    return (sign * ((octets >> 1) % limit + 1)).to(dtype)


def _powers(stream: Stream, rows: int, columns: int) -> Tensor:
    """Powers of two over three binades in a row, odd exponents beside even ones; two more from row to row."""
    row = torch.arange(rows, device=stream.device)[:, None]
    column = torch.arange(columns, device=stream.device)[None, :]
    doubled = stream.below(2, rows, columns) + stream.child("row").below(2, rows, 1)
    return power_of_two(2 * doubled + (row + column) % 2 + LEAST_SCALE)


def subnormal_codes(case: Case, stream: Stream) -> Values:
    """Every subnormal on one side, 0, +-1 and +-2 on the other, under tags; the side changes with the seed."""
    problem = case.problem
    codes, scales = [], list(tag_scales(case, stream, subnormal_scale_limit(problem)))
    sides = ("A", problem.m, problem.a, problem.a_dtype), ("B", problem.n, problem.b, problem.b_dtype)
    for i, (side, rows, form, dtype) in enumerate(sides):
        octets = stream.child(side).octets(rows, problem.k)
        if i == case.seed % 2:
            count, exponent = SUBNORMALS[form]
            codes.append(((octets & 0x80) | (octets & 0x7F) % count + 1).view(dtype))
            scales[i] = scales[i] * 2.0 ** (UNIT - exponent)
        else:
            codes.append(((octets % 5).float() - 2).to(dtype))
    return codes[0], codes[1], scales[0], scales[1]


def one_scale(case: Case, stream: Stream) -> Values:
    """Ones everywhere, but for the one scale that the seed names: 2 plus the number of its K block."""
    problem = case.problem
    a = torch.ones(problem.m, problem.k, device=stream.device).to(problem.a_dtype)
    b = torch.ones(problem.n, problem.k, device=stream.device).to(problem.b_dtype)
    sa, sb = (torch.ones(shape, dtype=torch.float32, device=stream.device) for shape in scale_shapes(case))
    operand, row, block = edited_scale(problem, case.seed)
    (sa if operand == "As" else sb)[row, block] = 2.0 + block
    return a, b, sa, sb
