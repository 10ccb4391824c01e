"""The tensors of the value families."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from cases.families import scale_limit
from cases.problem import Problem
from cases.stream import Stream
from reference.blocks import recipe_of
from reference.dot import power_of_two
from reference.quantise import per_block_quant_fp8, per_token_group_quant_fp8

Values = tuple[Tensor, Tensor, Tensor, Tensor]
"""A [M,K], B [N,K], As and Bs, contiguous."""


def uniform_codes(problem: Problem, stream: Stream) -> Values:
    """Every finite code, NaN codes folded onto others; scales of 24 random bits between 2^-10 and 2^-4."""
    a = _finite(stream.child("A").octets(problem.m, problem.k), problem.a_dtype)
    b = _finite(stream.child("B").octets(problem.n, problem.k), problem.b_dtype)
    recipe = recipe_of(problem.recipe)
    sa = stream.child("As").floats(-10, -4, *recipe.a_scale_shape(problem.m, problem.k))
    sb = stream.child("Bs").floats(-10, -4, *recipe.b_scale_shape(problem.n, problem.k))
    return a, b, sa, sb


def _finite(codes: Tensor, dtype: torch.dtype) -> Tensor:
    values = codes.view(dtype).float()
    return torch.where(torch.isfinite(values), codes, codes ^ 0x40).view(dtype)


def quantised_normal(problem: Problem, stream: Stream) -> Values:
    """Normal activations and weights whose magnitude changes by 2^-3 .. 2^3 from block to block, quantised."""
    recipe = recipe_of(problem.recipe)
    x = _normal(stream.child("x"), problem.m, problem.k, recipe.a_rows)
    w = _normal(stream.child("w"), problem.n, problem.k, recipe.b_rows) * 2.0**-4
    a, sa = _quantise(x, recipe.a_rows, problem.a_dtype)
    b, sb = _quantise(w, recipe.b_rows, problem.b_dtype)
    return a, b, sa, sb


def _normal(stream: Stream, rows: int, k: int, per_scale: int) -> Tensor:
    row_blocks, k_blocks = -(-rows // per_scale), -(-k // 128)
    magnitude = power_of_two(stream.child("magnitude").below(7, row_blocks, k_blocks) - 3)
    spread = magnitude.repeat_interleave(per_scale, 0)[:rows].repeat_interleave(128, 1)[:, :k]
    return stream.child("values").normal(rows, k) * spread


def _quantise(x: Tensor, per_scale: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    if per_scale == 1:
        return per_token_group_quant_fp8(x, 128, dtype=dtype)
    return per_block_quant_fp8(x, dtype=dtype)


def tagged_integers(problem: Problem, stream: Stream) -> Values:
    """Codes 0 and +-1 under integer scales that differ between all neighbours (arithmetic: any order is exact)."""
    recipe, limit = recipe_of(problem.recipe), scale_limit(problem)
    a = _ternary(stream.child("A"), problem.m, problem.k, problem.a_dtype)
    b = _ternary(stream.child("B"), problem.n, problem.k, problem.b_dtype)
    sa = tags(stream.child("As"), *recipe.a_scale_shape(problem.m, problem.k), limit=limit)
    sb = tags(stream.child("Bs"), *recipe.b_scale_shape(problem.n, problem.k), limit=limit)
    return a, b, sa, sb


def _ternary(stream: Stream, rows: int, k: int, dtype: torch.dtype) -> Tensor:
    octets = stream.octets(rows, k)
    sign = 1.0 - 2.0 * (octets & 1).float()
    return (sign * ((octets >> 1) & 1)).to(dtype)


def tags(stream: Stream, rows: int, columns: int, *, limit: int) -> Tensor:
    """Integer scales 1 .. limit, float32 [rows, columns], in which neighbours differ.

    The residue modulo 3 follows (row + 2 * column) mod 3, which keeps neighbours apart in a row, in a column and on
    rising diagonals; the rest is random, which leaves no shift, transposition or other leading dimension that maps
    the pattern onto itself.
    """
    row = torch.arange(rows, device=stream.device)[:, None]
    column = torch.arange(columns, device=stream.device)[None, :]
    residue = (row + 2 * column) % 3
    return (3 * stream.below(limit // 3, rows, columns) + residue + 1).float()


SPECIAL_CODES = (1.0, 0.0, -0.0, -1.0, 2.0**-9, 448.0, -448.0, math.nan)
SPECIAL_SCALES = (1.0, math.nan, math.inf, -math.inf, 0.0, 1e-40, 1e-45, 3e38, 1e38, 1e-38, 1e-30, 1e30, -1.0)


def special_values(problem: Problem, stream: Stream) -> Values:
    """One special product an element, all else zero: codes change fastest over rows and columns, then the scales."""
    recipe, device = recipe_of(problem.recipe), stream.device
    sides = []
    for rows, per_scale, dtype in (
        (problem.m, recipe.a_rows, problem.a_dtype),
        (problem.n, recipe.b_rows, problem.b_dtype),
    ):
        codes = torch.zeros(rows, problem.k, dtype=dtype, device=device)
        codes[:, 0] = _cycle(SPECIAL_CODES, rows, 1, device).to(dtype)
        blocks, k_blocks = -(-rows // per_scale), -(-problem.k // 128)
        every = len(SPECIAL_CODES) if per_scale == 1 else 1
        scales = _cycle(SPECIAL_SCALES, blocks, every, device)[:, None].expand(blocks, k_blocks).contiguous()
        sides.append((codes, scales))
    (a, sa), (b, sb) = sides
    return a, b, sa, sb


def _cycle(values: tuple[float, ...], count: int, every: int, device: torch.device) -> Tensor:
    index = torch.arange(count, device=device) // every % len(values)
    return torch.tensor(values, dtype=torch.float32, device=device)[index]


VALUES: dict[str, Callable[[Problem, Stream], Values]] = {
    "tagged-integers": tagged_integers,
    "uniform-codes": uniform_codes,
    "quantised-normal": quantised_normal,
    "special-values": special_values,
}
