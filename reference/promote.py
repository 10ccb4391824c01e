"""From the products between promotions to the result: scales, float32 accumulation in K order, split-K chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from reference.arithmetic import Arithmetic, ScaleOrder
from reference.blocks import BLOCK
from reference.rounding import fma

Chosen = Callable[[int], Sequence[int]]


def promote(
    products: Tensor,
    sa: Tensor,
    sb: Tensor,
    *,
    order: ScaleOrder,
    split: int,
    fused: bool = True,
    chosen: Chosen | None = None,
) -> Tensor:
    """Accumulate products [blocks, M, N] with scales ``sa`` [blocks, M] and ``sb`` [blocks, N] into float32 [M, N].

    The blocks are accumulated in chunks of ``split``, each from zero, and the chunks are added in order. ``chosen``
    picks other chunks, given their number: what a kernel does that loses or repeats a split-K slice.
    """
    blocks = products.shape[0]
    chunks = [range(i, min(i + split, blocks)) for i in range(0, blocks, max(split, 1))]
    picked = chosen(len(chunks)) if chosen and chunks else range(len(chunks))
    total = None
    for i in picked:
        chunk = _accumulate(products, sa, sb, chunks[i], order, fused)
        total = chunk if total is None else total + chunk
    return torch.zeros(products.shape[1:], device=products.device) if total is None else total


def _accumulate(products: Tensor, sa: Tensor, sb: Tensor, blocks: range, order: ScaleOrder, fused: bool) -> Tensor:
    total = torch.zeros(products.shape[1:], device=products.device)
    for b in blocks:
        rows, cols = sa[b][:, None], sb[b][None, :]
        first, second = _scaled(products[b], rows, cols, order)
        total = fma(first, second, total) if fused else first * second + total
    return total


def _scaled(product: Tensor, rows: Tensor, cols: Tensor, order: ScaleOrder) -> tuple[Tensor, Tensor]:
    """The two factors whose product is added: where the first float32 rounding falls depends on the order."""
    if order == "scales-first":
        return product, rows * cols
    return (product * rows, cols) if order == "a-then-b" else (product * cols, rows)


def scales_between(scale: Tensor, arithmetic: Arithmetic) -> Tensor:
    """Scales per K block [kb, R] as one per promotion: of the last K block that it covers."""
    if arithmetic.promotion == BLOCK:
        return scale
    k_blocks = scale.shape[0]
    promotions = -(-k_blocks * BLOCK // arithmetic.promotion)
    last = (torch.arange(1, promotions + 1, device=scale.device) * arithmetic.promotion - 1) // BLOCK
    return scale[last.clamp(max=k_blocks - 1)]


def promotions_in(k_blocks: int, arithmetic: Arithmetic) -> int:
    """A chunk of ``k_blocks`` K blocks in promotions, at least one."""
    return max(1, k_blocks * BLOCK // arithmetic.promotion)
