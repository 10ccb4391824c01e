"""What peers draw, quantise and compute, from streams that give the same values on every machine."""

from __future__ import annotations

import torch
from torch import Tensor

from cases.stream import Stream
from reference import clamping_cast, per_block_quant_fp8, per_token_group_quant_fp8
from reference.blocks import BLOCK, ceil_div

E4M3 = torch.float8_e4m3fn
DEVIATION = 0.8165
"""Of `Stream.normal`: eight bytes of variance (2**16 - 1) / 12 each, over 2**8."""
FULL = 448.0
"""The largest e4m3 value: what the field calls fp8_max."""

Quantised = tuple[Tensor, Tensor, Tensor, Tensor]
"""A [M,K], B [N,K], As [M,kb], Bs [nb,kb]."""


def unit(stream: Stream, *shape: int) -> Tensor:
    """Uniform float32 in [0, 1), multiples of 2^-24."""
    return (stream.words(*shape) & 0xFFFFFF).float() * 2.0**-24


def uniform(stream: Stream, *shape: int) -> Tensor:
    """Uniform float32 in [-1, 1)."""
    return unit(stream, *shape) * 2 - 1


def normal(stream: Stream, *shape: int) -> Tensor:
    """Float32 of mean 0 and deviation 1, as normal as a sum of eight bytes is."""
    return stream.normal(*shape) / DEVIATION


def codes(x: Tensor) -> Tensor:
    """``x`` in e4m3, without scales."""
    return clamping_cast(x, E4M3)


def quantised(a: Tensor, b: Tensor, *, ue8m0: bool = False) -> Quantised:
    """``a`` [M,K] by groups of 128 and ``b`` [N,K] by 128x128 blocks, by their largest magnitudes."""
    A, As = per_token_group_quant_fp8(a, BLOCK, use_ue8m0=ue8m0)
    B, Bs = per_block_quant_fp8(b, (BLOCK, BLOCK), use_ue8m0=ue8m0)
    return A, B, As, Bs


def dequantised_product(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
    """One float32 matmul of the operands multiplied out, [M, N]: the reference of those who write no block loop."""
    k = A.shape[1]
    a = A.float() * As.repeat_interleave(BLOCK, 1)[:, :k]
    b = B.float() * Bs.repeat_interleave(BLOCK, 0)[: B.shape[0]].repeat_interleave(BLOCK, 1)[:, :k]
    return a @ b.t()


def row_major(scales: Tensor, multiple: int = 1) -> Tensor:
    """The same scales [rows, columns] with rows padded with zeros to ``multiple``."""
    rows, columns = scales.shape
    buffer = scales.new_zeros(rows, ceil_div(columns, multiple) * multiple)
    buffer[:, :columns] = scales
    return buffer[:, :columns]


def column_major(scales: Tensor, multiple: int = 1) -> Tensor:
    """The same scales [rows, columns] with strides (1, rows rounded up to ``multiple``)."""
    return row_major(scales.t(), multiple).t()
