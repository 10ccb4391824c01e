"""A whole block-scaled matmul as the hardware computes it, under one split of K or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from reference.arithmetic import SM90, Arithmetic
from reference.blocks import BLOCK, DEFAULT_RECIPE, block_recipe_of, ceil_div, check_operands
from reference.engine import engine_for
from reference.promote import Chosen, promotions_in, scales_between
from reference.tiles import Tile, scales_by_row


def emulate_block_scaled_mm(
    A: Tensor,
    B: Tensor,
    As: Tensor,
    Bs: Tensor,
    *,
    recipe: str = DEFAULT_RECIPE,
    out_dtype: torch.dtype,
    arithmetic: Arithmetic = SM90,
    split_k: int | None = None,
    engine: str | None = None,
) -> Tensor:
    """``A @ B.T`` with block scales, bit for bit as ``arithmetic`` computes it; [M, N] in ``out_dtype``.

    A [M,K], B [N,K] FP8 on any one device; As and Bs float32 as the recipe demands; ``split_k`` is the number of K
    blocks in a chunk, None for no split; ``engine`` names one of `reference.engine.ENGINES`, None for the fastest.
    Raises ValueError or TypeError for operands that do not fit together, a ``split_k`` below 1, and an engine that is
    unknown or cannot compute this here.
    """
    check_operands(A, B, As, Bs, recipe=recipe)
    if split_k is not None and split_k < 1:
        raise ValueError(f"split_k is a number of K blocks and must be at least 1, got {split_k}")
    sa, sb = scales_by_row(As, Bs, block_recipe_of(recipe), A.shape[0], B.shape[0])
    plan = split_k or max(1, ceil_div(A.shape[1], BLOCK))
    out = torch.empty(A.shape[0], B.shape[0], dtype=out_dtype, device=A.device)
    for tile, results in emulate_plans(A, B, sa, sb, (plan,), recipe=recipe, arithmetic=arithmetic, engine=engine):
        out[tile.rows, tile.cols] = results[0].to(out_dtype)
    return out


def emulate_plans(
    A: Tensor,
    B: Tensor,
    sa: Tensor,
    sb: Tensor,
    plans: Sequence[int],
    *,
    recipe: str,
    arithmetic: Arithmetic,
    engine: str | None = None,
    chosen: Chosen | None = None,
) -> Iterator[tuple[Tile, list[Tensor]]]:
    """The float32 results under each of the split ``plans``, tile by tile; the block products are computed once.

    ``sa`` [kb, M] and ``sb`` [kb, N] are scales by row and column. ``chosen`` picks the chunks that are added.
    """
    unit = engine_for(A.device, arithmetic, macs=A.shape[0] * B.numel(), name=engine)
    order = arithmetic.order(recipe)
    sa, sb = (scales_between(scale, arithmetic) for scale in (sa, sb))
    for tile, products in unit.products(A, B, arithmetic):
        rows, cols = sa[:, tile.rows], sb[:, tile.cols]
        splits = [promotions_in(plan, arithmetic) for plan in plans]
        yield tile, unit.promote(products, rows, cols, splits, order=order, fused=arithmetic.fused, chosen=chosen)
