"""Data whose every partial sum is exact on any hardware, in any order."""

from __future__ import annotations

import torch
from torch import Tensor

from cases.case import Case
from cases.families import scale_limit
from cases.fill.values import Values
from cases.stream import Stream
from reference.blocks import recipe_of


def tagged_integers(case: Case, stream: Stream) -> Values:
    """Codes 0 and +-1 under integer scales that differ between all neighbours (arithmetic: any order is exact)."""
    problem = case.problem
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
