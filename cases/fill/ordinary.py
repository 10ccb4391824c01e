"""Data as engines see it, and data that covers the formats: judged against a bound."""

from __future__ import annotations

import torch
from torch import Tensor

from cases.case import Case
from cases.fill.values import Values
from cases.stream import Stream
from reference.blocks import BLOCK, Recipe, recipe_of
from reference.dot import power_of_two
from reference.quantise import per_block_quant_fp8, per_tensor_quant_fp8, per_token_group_quant_fp8


def uniform_codes(case: Case, stream: Stream) -> Values:
    """Every finite code, NaN codes folded onto others; scales of 24 random bits between 2^-10 and 2^-4."""
    problem = case.problem
    a = _finite(stream.child("A").octets(problem.m, problem.k), problem.a_dtype)
    b = _finite(stream.child("B").octets(problem.n, problem.k), problem.b_dtype)
    recipe = recipe_of(problem.recipe)
    sa = stream.child("As").floats(-10, -4, *recipe.a_scale_shape(problem.m, problem.k))
    sb = stream.child("Bs").floats(-10, -4, *recipe.b_scale_shape(problem.n, problem.k))
    return a, b, sa, sb


def _finite(codes: Tensor, dtype: torch.dtype) -> Tensor:
    values = codes.view(dtype).float()
    return torch.where(torch.isfinite(values), codes, codes ^ 0x40).view(dtype)


def quantised_normal(case: Case, stream: Stream) -> Values:
    """Normal activations and weights whose magnitude changes by 2^-3 .. 2^3 from block to block, quantised."""
    problem = case.problem
    recipe = recipe_of(problem.recipe)
    x = _normal(stream.child("x"), problem.m, problem.k, recipe.a_rows)
    w = _normal(stream.child("w"), problem.n, problem.k, recipe.b_rows) * 2.0**-4
    a, sa = _quantise(x, recipe, recipe.a_rows, problem.a_dtype)
    b, sb = _quantise(w, recipe, recipe.b_rows, problem.b_dtype)
    return a, b, sa, sb


def _normal(stream: Stream, rows: int, k: int, per_scale: int) -> Tensor:
    per_scale = min(per_scale, BLOCK)
    row_blocks, k_blocks = -(-rows // per_scale), -(-k // 128)
    magnitude = power_of_two(stream.child("magnitude").below(7, row_blocks, k_blocks) - 3)
    spread = magnitude.repeat_interleave(per_scale, 0)[:rows].repeat_interleave(128, 1)[:, :k]
    return stream.child("values").normal(rows, k) * spread


def _quantise(x: Tensor, recipe: Recipe, per_scale: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    if recipe.is_whole:
        return (
            per_token_group_quant_fp8(x, x.shape[1], dtype=dtype) if per_scale == 1 else per_tensor_quant_fp8(x, dtype)
        )
    if per_scale == 1:
        return per_token_group_quant_fp8(x, 128, dtype=dtype)
    return per_block_quant_fp8(x, dtype=dtype)


def positive_codes(case: Case, stream: Stream) -> Values:
    """Finite codes and scales of one sign, so that errors of one direction add up; half the scales are even."""
    a, b, *scales = uniform_codes(case, stream)
    sa, sb = (_half_even(stream.child(name), scale) for name, scale in zip(("As", "Bs"), scales, strict=True))
    return (a.view(torch.uint8) & 0x7F).view(a.dtype), (b.view(torch.uint8) & 0x7F).view(b.dtype), sa, sb


def _half_even(stream: Stream, scales: Tensor) -> Tensor:
    """``scales`` with the last bit of half of them cleared: an odd one survives a product and its quotient."""
    return (scales.view(torch.int32) & ~stream.child("even").below(2, *scales.shape).int()).view(torch.float32)


def quantised_outliers(case: Case, stream: Stream) -> Values:
    """Activations with heavy tails, a few channels and tokens 2^3 to 2^7 times larger, through the real quantisers."""
    problem, recipe = case.problem, recipe_of(case.problem.recipe)
    x = _normal(stream.child("x"), problem.m, problem.k, recipe.a_rows)
    x = (
        x
        * _loud(stream.child("channels"), 1, problem.k, every=40)
        * _loud(stream.child("tokens"), problem.m, 1, every=16)
    )
    # One element in 16 is twice as large, one in 256 eight times.
    drawn = stream.child("tails").octets(problem.m, problem.k)
    x = x * torch.where(drawn < 16, 2.0, 1.0) * torch.where(drawn < 1, 4.0, 1.0)
    w = _normal(stream.child("w"), problem.n, problem.k, recipe.b_rows) * 2.0**-4
    a, sa = _quantise(x, recipe, recipe.a_rows, problem.a_dtype)
    b, sb = _quantise(w, recipe, recipe.b_rows, problem.b_dtype)
    return a, b, sa, sb


def _loud(stream: Stream, rows: int, columns: int, *, every: int) -> Tensor:
    """2^3 to 2^7 for one in ``every``, and 1."""
    exponent = stream.below(5, rows, columns) + 3
    return torch.where(stream.child("which").below(every, rows, columns) == 0, power_of_two(exponent), 1.0)
