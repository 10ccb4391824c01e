"""Which split of K explains an output, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from reference.arithmetic import SM90, Arithmetic
from reference.blocks import BLOCK, DEFAULT_RECIPE, block_recipe_of, ceil_div, check_operands
from reference.emulate import emulate_plans
from reference.tiles import scales_by_row

CHUNK = 4
"""Chunks are multiples of this many K blocks where scales are 128x128: the stride at which cuBLASLt keeps them."""


@dataclass(frozen=True)
class Fit:
    """How well split plans explain an output.

    ``plan`` is the K blocks in a chunk (kb when unsplit) that explains every bit, None when none does; ``best``
    is the plan that explains most, ``explained`` of ``total`` elements; ``alternatives`` explain every bit, too.
    """

    plan: int | None
    explained: int
    total: int
    best: int
    alternatives: tuple[int, ...] = ()


def plans(k_blocks: int, recipe: str = DEFAULT_RECIPE) -> tuple[int, ...]:
    """The plans that may be tried for a number of K blocks, unsplit first; fixed before any output is seen.

    With 128x128 scales on one side chunks are multiples of `CHUNK`. With scales by row on both they are what even
    shares come to: ceil(kb / s) for a split in s (measured on the H200: 21 of 42, 27 of 53, 22 of 128 K blocks).
    """
    if recipe == "1x128-1x128":
        return tuple(dict.fromkeys(ceil_div(max(k_blocks, 1), shares) for shares in range(1, max(k_blocks, 1) + 1)))
    return (max(k_blocks, 1), *range(CHUNK, k_blocks, CHUNK))


def same_bits(x: Tensor, y: Tensor) -> Tensor:
    """Element-wise: equal bits, or both NaN."""
    size = torch.int32 if x.dtype == torch.float32 else torch.int16
    return (x.contiguous().view(size) == y.contiguous().view(size)) | (x.isnan() & y.isnan())


def infer_split_k(
    A: Tensor,
    B: Tensor,
    As: Tensor,
    Bs: Tensor,
    out: Tensor,
    *,
    recipe: str = DEFAULT_RECIPE,
    arithmetic: Arithmetic = SM90,
) -> Fit:
    """The split of K under which ``arithmetic`` gives every bit of ``out`` [M, N] (float32, bfloat16 or float16).

    Raises ValueError or TypeError for operands that do not fit together, or an ``out`` that does not fit them.
    """
    check_operands(A, B, As, Bs, recipe=recipe)
    if tuple(out.shape) != (A.shape[0], B.shape[0]):
        raise ValueError(f"out must have shape {(A.shape[0], B.shape[0])}, got {tuple(out.shape)}")
    if out.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        raise TypeError(f"out must be float32, bfloat16 or float16, got {out.dtype}")
    sa, sb = scales_by_row(As, Bs, block_recipe_of(recipe), A.shape[0], B.shape[0])
    tried = plans(ceil_div(A.shape[1], BLOCK), recipe)
    explained = torch.zeros(len(tried), dtype=torch.int64, device=out.device)
    for tile, results in emulate_plans(A, B, sa, sb, tried, recipe=recipe, arithmetic=arithmetic):
        seen = out[tile.rows, tile.cols]
        explained += torch.stack([same_bits(result.to(out.dtype), seen).sum() for result in results])
    counts = dict(zip(tried, explained.tolist(), strict=True))
    whole = [plan for plan, count in counts.items() if count == out.numel()]
    best = max(counts, key=lambda plan: counts[plan])
    return Fit(whole[0] if whole else None, counts[best], out.numel(), best, tuple(whole[1:]))
