"""The exact value of a block-scaled matmul, in float64."""

from __future__ import annotations

import torch
from torch import Tensor

from reference.blocks import DEFAULT_RECIPE, check_operands, k_blocks, recipe_of
from reference.formats import decode
from reference.tiles import Tile, budget, scales_by_row, tiles


def exact_block_matmul(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, recipe: str = DEFAULT_RECIPE) -> Tensor:
    """``A @ B.T`` with block scales as float64 [M, N]: the value that every verdict is measured from.

    The dot product P_b inside a K block is exact (E4M3 values times 2^9 are integers of at most 18 bits, so 128 of
    their products add up below 2^53 in any order), and so is the product s_b of two float32 scales. What remains is
    one rounding a K block and one an addition: ``|result - C| <= (kb + 1) * 2^-53 * sum_b |s_b * P_b|``. Where all
    terms are integers below 2^53, as in the exact families, the result is exact. E5M2 operands span more: there P_b
    is exact when the products of a block lie within 2^46 of one another, as all but subnormal data do.
    Raises ValueError or TypeError for operands that do not fit together.
    """
    check_operands(A, B, As, Bs, recipe=recipe)
    m, n = A.shape[0], B.shape[0]
    a, b = k_blocks(decode(A).double()), k_blocks(decode(B).double())
    sa, sb = (s.double().expand(len(a), -1) for s in scales_by_row(As, Bs, recipe_of(recipe), m, n))
    out = torch.empty(m, n, dtype=torch.float64, device=A.device)
    for tile in tiles(m, n, limit=budget(A)):
        out[tile.rows, tile.cols] = _exact_tile(a, b, sa, sb, tile)
    return out


def _exact_tile(a: Tensor, b: Tensor, sa: Tensor, sb: Tensor, tile: Tile) -> Tensor:
    total = torch.zeros(tile.shape, dtype=torch.float64, device=a.device)
    for block in range(a.shape[0]):
        products = a[block, tile.rows] @ b[block, tile.cols].t()
        total += products * (sa[block, tile.rows, None] * sb[block, None, tile.cols])
    return total
