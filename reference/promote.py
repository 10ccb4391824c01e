"""From the products of K blocks to the result: scales, float32 accumulation in K order, split-K chunks."""

from __future__ import annotations

import torch
from torch import Tensor

from reference.rounding import fma


def promote(products: Tensor, sa: Tensor, sb: Tensor, *, recipe: str, split_k: int | None) -> Tensor:
    """Accumulate block products [kb, M, N] with scales ``sa`` [kb, M] and ``sb`` [kb, N] into float32 [M, N].

    With ``split_k`` the K blocks are accumulated in chunks of that many, each from zero, and the chunks are added in
    order. Both recipes with a 128x128 side multiply the two scales first.
    """
    blocks = products.shape[0]
    step = split_k or max(blocks, 1)
    total = None
    for start in range(0, blocks, step):
        chunk = _accumulate(products, sa, sb, range(start, min(start + step, blocks)), recipe)
        total = chunk if total is None else total + chunk
    return torch.zeros(products.shape[1:], device=products.device) if total is None else total


def _accumulate(products: Tensor, sa: Tensor, sb: Tensor, blocks: range, recipe: str) -> Tensor:
    total = torch.zeros(products.shape[1:], device=products.device)
    for b in blocks:
        rows, cols = sa[b][:, None], sb[b][None, :]
        if recipe == "1x128-1x128":
            total = fma(products[b] * rows, cols, total)
        else:
            total = fma(products[b], rows * cols, total)
    return total
