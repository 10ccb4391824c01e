"""Relations that reorder rows, columns or lanes, each with its scales."""

from __future__ import annotations

import torch
from torch import Tensor

from cases.operands import Operands
from cases.problem import Problem
from cases.relations.orders import inside_blocks, inverse, whole_blocks
from cases.relations.related import Related
from cases.stream import Stream
from reference.blocks import BLOCK, recipe_of

GROUP = 32
"""Lanes of one fused dot product on Hopper and Blackwell."""


def take(codes: Tensor, index: Tensor, axis: int) -> Tensor:
    """FP8 ``codes`` in the order of ``index``; as bytes, because not every device indexes FP8."""
    return codes.view(torch.uint8).index_select(axis, index).view(codes.dtype)


def _with_scales(codes: Tensor, scales: Tensor, index: Tensor, per_scale: int) -> tuple[Tensor, Tensor]:
    """Rows in the order of ``index``, which keeps rows of one scale together, and their scales likewise."""
    return take(codes, index, 0), scales[index[::per_scale] // per_scale]


def permute_rows(operands: Operands, problem: Problem, stream: Stream) -> Related:
    """Rows of A with their scales: anywhere, or by whole M blocks and inside each where these share a scale."""
    per_scale = recipe_of(problem.recipe).a_rows
    width = BLOCK if per_scale > 1 else problem.m
    blocks = whole_blocks(stream.child("blocks"), problem.m, width)
    index = blocks[inside_blocks(stream.child("inside"), problem.m, width)]
    a, sa = _with_scales(operands.A, operands.As, index, per_scale)
    back = inverse(index)
    return Related(((a, operands.B, sa, operands.Bs),), back=lambda out: out[back])


def permute_columns(operands: Operands, problem: Problem, stream: Stream) -> Related:
    """Rows of B inside each N block."""
    return _reorder_columns(operands, problem, inside_blocks(stream, problem.n, BLOCK))


def permute_n_blocks(operands: Operands, problem: Problem, stream: Stream) -> Related:
    """Whole N blocks of B with their scales."""
    return _reorder_columns(operands, problem, whole_blocks(stream, problem.n, BLOCK))


def _reorder_columns(operands: Operands, problem: Problem, index: Tensor) -> Related:
    b, sb = _with_scales(operands.B, operands.Bs, index, recipe_of(problem.recipe).b_rows)
    back = inverse(index)
    return Related(((operands.A, b, operands.As, sb),), back=lambda out: out[:, back])


def permute_k_in_groups(operands: Operands, problem: Problem, stream: Stream) -> Related:
    """Lanes of A and B inside every aligned group of 32."""
    return _reorder_k(operands, problem, inside_blocks(stream, problem.k, GROUP))


def permute_k(operands: Operands, problem: Problem, stream: Stream) -> Related:
    """Lanes of A and B inside every K block."""
    return _reorder_k(operands, problem, inside_blocks(stream, problem.k, BLOCK))


def permute_k_blocks(operands: Operands, problem: Problem, stream: Stream) -> Related:
    """Whole K blocks of A and B with their scales."""
    return _reorder_k(operands, problem, whole_blocks(stream, problem.k, BLOCK))


def _reorder_k(operands: Operands, problem: Problem, index: Tensor) -> Related:
    a, b = (take(codes, index, 1) for codes in (operands.A, operands.B))
    lanes = recipe_of(problem.recipe).lanes
    sa, sb = (scales[:, index[::lanes] // lanes] for scales in (operands.As, operands.Bs))
    return Related(((a, b, sa, sb),))
