"""Scales as the packages want them to lie in memory."""

from __future__ import annotations

from torch import Tensor

from reference.blocks import ceil_div

ALIGNMENT = 4
"""Float32 scales in the 16 bytes that Hopper's copy engine (TMA) aligns a column to."""


def in_aligned_columns(As: Tensor) -> Tensor:
    """As [M,kb] column-major, columns 16 bytes aligned: strides (1, M rounded up to 4), zeros between them."""
    m, blocks = As.shape
    laid = As.new_zeros(blocks, ceil_div(m, ALIGNMENT) * ALIGNMENT)
    laid[:, :m] = As.t()
    return laid.t()[:m]
