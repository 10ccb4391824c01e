"""A whole block-scaled matmul as the hardware computes it."""

from __future__ import annotations

import torch
from torch import Tensor

from reference.arithmetic import SM90, Arithmetic
from reference.blocks import DEFAULT_RECIPE, check_operands, recipe_of
from reference.dot import iter_block_products
from reference.promote import promote
from reference.tiles import scales_by_row


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
) -> Tensor:
    """``A @ B.T`` with block scales, bit for bit as ``arithmetic`` computes it; [M, N] in ``out_dtype``.

    A [M,K], B [N,K] FP8 on any one device; As and Bs float32 as the recipe demands; ``split_k`` is the number of K
    blocks in a chunk, None for no split. Raises ValueError or TypeError for operands that do not fit together and a
    ``split_k`` below 1.
    """
    check_operands(A, B, As, Bs, recipe=recipe)
    if split_k is not None and split_k < 1:
        raise ValueError(f"split_k is a number of K blocks and must be at least 1, got {split_k}")
    m, n = A.shape[0], B.shape[0]
    sa, sb = scales_by_row(As, Bs, recipe_of(recipe), m, n)
    out = torch.empty(m, n, dtype=out_dtype, device=A.device)
    for tile, products in iter_block_products(A, B, arithmetic):
        result = promote(products, sa[:, tile.rows], sb[:, tile.cols], recipe=recipe, split_k=split_k)
        out[tile.rows, tile.cols] = result.to(out_dtype)
    return out
