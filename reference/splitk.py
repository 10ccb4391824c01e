"""Which split of K explains an output, bit for bit."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from reference.arithmetic import SM90, Arithmetic
from reference.blocks import BLOCK, DEFAULT_RECIPE, ceil_div, check_operands, recipe_of
from reference.dot import iter_block_products
from reference.promote import promote
from reference.tiles import scales_by_row

CHUNK = 4
"""Chunks are multiples of this many K blocks: the stride at which cuBLASLt keeps scales."""


@dataclass(frozen=True)
class Fit:
    """How well split plans explain an output.

    ``plan`` is the K blocks in a chunk (kb when unsplit) that explains every bit, None when none does; ``explained``
    of ``total`` elements are explained by the best plan; ``alternatives`` are further plans that explain every bit.
    """

    plan: int | None
    explained: int
    total: int
    alternatives: tuple[int, ...] = ()


def plans(k_blocks: int) -> tuple[int, ...]:
    """The plans that may be tried for a number of K blocks, unsplit first; fixed before any output is seen."""
    return (k_blocks, *range(CHUNK, k_blocks, CHUNK))


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

    Raises ValueError or TypeError for operands that do not fit together.
    """
    check_operands(A, B, As, Bs, recipe=recipe)
    m, n = A.shape[0], B.shape[0]
    sa, sb = scales_by_row(As, Bs, recipe_of(recipe), m, n)
    explained = dict.fromkeys(plans(ceil_div(A.shape[1], BLOCK)), 0)
    for tile, products in iter_block_products(A, B, arithmetic):
        seen = out[tile.rows, tile.cols]
        for plan in explained:
            result = promote(products, sa[:, tile.rows], sb[:, tile.cols], recipe=recipe, split_k=plan)
            explained[plan] += int(same_bits(result.to(out.dtype), seen).sum())
    whole = [plan for plan, count in explained.items() if count == out.numel()]
    best = max(explained.values(), default=0)
    return Fit(whole[0] if whole else None, best, out.numel(), tuple(whole[1:]))
