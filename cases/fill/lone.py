"""Data with a single product in every result, so that nothing is summed: all code pairs, whole scales, the limits."""

from __future__ import annotations

import torch
from torch import Tensor

from cases.case import Case
from cases.fill.exact import scale_shapes, signs
from cases.fill.values import Values
from cases.stream import Stream
from reference.blocks import BLOCK
from reference.dot import power_of_two


def _one_hot(values: Tensor, k: int, place: Tensor) -> Tensor:
    """Codes [rows, K], the bits ``values`` [rows] at ``place`` [rows] and zeros elsewhere."""
    codes = torch.zeros(len(values), k, dtype=torch.uint8, device=values.device)
    codes.scatter_(1, place[:, None], values.view(torch.uint8)[:, None])
    return codes.view(values.dtype)


def _swept(case: Case, rows: int, device: torch.device) -> Tensor:
    """A k for every row: the K blocks in turn, in each of them lane after lane; seeds go on where the last ended."""
    k, blocks = case.problem.k, case.problem.k_blocks
    count = torch.arange(rows, device=device) + case.seed * rows
    block = count % blocks
    width = (k - BLOCK * block).clamp(max=BLOCK)
    return BLOCK * block + (count // blocks + 11 * block) % width


def lone_products(case: Case, stream: Stream, sizes: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """A and B whose results are one product each, +- one of ``sizes``, in every lane and K block in turn.

    The longer side has one code a row, so that few rows against many columns still see all of K; the other is +-1.
    """
    problem = case.problem
    sides = {"A": (problem.m, problem.a_dtype), "B": (problem.n, problem.b_dtype)}
    longer = "A" if problem.m >= problem.n else "B"
    codes = []
    for side, (rows, dtype) in sides.items():
        if side == longer:
            size = torch.tensor(sizes, device=stream.device)[stream.child("size").below(len(sizes), rows)]
            values = (size * signs(stream.child(side), rows)).to(dtype)
            codes.append(_one_hot(values, problem.k, _swept(case, rows, stream.device)))
        else:
            codes.append(signs(stream.child(side), rows, problem.k).to(dtype))
    return codes[0], codes[1]


def full_scales(case: Case, stream: Stream) -> Values:
    """Scales of 24 bits on one side, powers of two on the other and in the data; seed and K blocks change the side."""
    scales, turn = [], case.seed + case.problem.k_blocks
    for i, shape in enumerate(scale_shapes(case)):
        child = stream.child(f"scales {i}")
        full = i == turn % 2
        scales.append(child.floats(-3, 3, *shape) if full else power_of_two(child.below(7, *shape) - 3))
    return *lone_products(case, stream, (1.0,)), scales[0], scales[1]


def code_pairs(case: Case, stream: Stream) -> Values:
    """Every code against every other: code i alone in row i of A, code j in every lane of row j of B.

    Lanes change with the seed, K blocks with the row. Scales are powers of two with which e4m3fn pairs fit float16.
    """
    problem, device = case.problem, stream.device
    rows, columns = torch.arange(problem.m, device=device), torch.arange(problem.n, device=device)
    whole = max(1, problem.k // BLOCK)
    lane = (rows + case.seed) % min(BLOCK, problem.k)
    values = (rows % 256).to(torch.uint8).view(problem.a_dtype)
    a = _one_hot(values, problem.k, (rows + rows // 256) % whole * BLOCK + lane)
    b = (columns % 256).to(torch.uint8)[:, None].expand(problem.n, problem.k).contiguous().view(problem.b_dtype)
    of_a, of_b = scale_shapes(case)
    sa = power_of_two(stream.child("As").below(2, *of_a) - 3)
    sb = power_of_two(stream.child("Bs").below(2, *of_b) - 1)
    return a, b, sa, sb


HALF_TIE, BRAIN_TIE = 65520.0, (2 - 2.0**-8) * 2.0**127
"""What rounds to infinity in float16 and in bfloat16, and nothing below it."""
LIMITS = (
    65504.0,
    65519.0,
    HALF_TIE - 2.0**-8,
    HALF_TIE,
    65536.0,
    (2 - 2.0**-7) * 2.0**127,
    BRAIN_TIE - 2.0**104,
    BRAIN_TIE,
    (2 - 2.0**-23) * 2.0**127,
    (2 - 2.0**-23) * 2.0**126,
    2.0**127,
    1.5,
)
"""Results at the limits of float16, bfloat16 and float32, and half of those of float32."""
HALFWAY = 64
"""Exponent that the other side takes, so that no factor nears the limits before the last."""


def overflow(case: Case, stream: Stream) -> Values:
    """One product a result, `LIMITS` and their doubles: just inside and just beyond what each output dtype holds."""
    of_a, of_b = scale_shapes(case)
    limits = torch.tensor(LIMITS, dtype=torch.float64, device=stream.device) * 2.0**-HALFWAY
    scales = []
    by_row = "B" if case.problem.recipe.startswith("128x") else "A"
    for side, (rows, blocks) in (("A", of_a), ("B", of_b)):
        if side == by_row:
            row = torch.arange(rows, device=stream.device)[:, None]
            block = torch.arange(blocks, device=stream.device)[None, :]
            scales.append(limits[(row + block + case.seed) % len(limits)].float())
        else:
            scales.append(torch.full((rows, blocks), 2.0**HALFWAY, dtype=torch.float32, device=stream.device))
    return *lone_products(case, stream, (1.0, 2.0)), scales[0], scales[1]
