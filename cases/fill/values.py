"""What filling a problem gives."""

from __future__ import annotations

from torch import Tensor

Values = tuple[Tensor, Tensor, Tensor, Tensor]
"""A [M,K], B [N,K], As and Bs, contiguous."""
