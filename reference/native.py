"""The mission's reference: block-scaled matmul as a loop over K and N tiles, in float32."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from reference.blocks import ceil_div


def native_w8a8_block_matmul(
    A: Tensor,
    B: Tensor,
    As: Tensor,
    Bs: Tensor,
    block_size: Sequence[int],
    output_dtype: torch.dtype,
    compute_type: torch.dtype = torch.float32,
) -> Tensor:
    """``A @ B.T`` with block scales, the way serving engines define it.

    A [..., K] and B [N, K] are FP8 (or int8); As [..., ceil(K/block_k)] has one scale per row and K block, Bs
    [ceil(N/block_n), ceil(K/block_k)] one per block; ``block_size`` is (block_n, block_k). The two scales are
    multiplied first and applied after each partial product; K tiles accumulate in float32; the result [..., N] is
    cast to ``output_dtype`` once. Ragged last tiles are allowed, and any strides. Raises ValueError where shapes do
    not fit together.

    Source: vLLM tests/kernels/quant_utils.py (semantics only).
    """
    block_n, block_k = block_size
    n, k = B.shape
    _check(A, B, As, Bs, block_n, block_k)
    a = A.reshape(-1, k).to(compute_type)
    b = B.to(compute_type)
    sa = As.reshape(-1, As.shape[-1])
    out = torch.zeros(a.shape[0], n, dtype=torch.float32, device=A.device)
    for i in range(ceil_div(k, block_k)):
        tile_k = slice(i * block_k, (i + 1) * block_k)
        for j in range(ceil_div(n, block_n)):
            tile_n = slice(j * block_n, (j + 1) * block_n)
            out[:, tile_n] += (a[:, tile_k] @ b[tile_n, tile_k].t()) * (sa[:, i : i + 1] * Bs[j, i])
    return out.reshape(*A.shape[:-1], n).to(output_dtype)


def _check(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, block_n: int, block_k: int) -> None:
    n, k = B.shape
    if A.shape[-1] != k:
        raise ValueError(f"A is [..., K] and B is [N, K]: their K differ, {A.shape[-1]} and {k}")
    a_scales, b_scales = (*A.shape[:-1], ceil_div(k, block_k)), (ceil_div(n, block_n), ceil_div(k, block_k))
    for name, scale, shape in (("As", As, a_scales), ("Bs", Bs, b_scales)):
        if tuple(scale.shape) != shape:
            raise ValueError(f"{name} must have shape {shape}, got {tuple(scale.shape)}")
