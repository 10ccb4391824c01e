"""A Triton kernel that writes far behind its memory."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def stray(pointer: tl.tensor, offset: tl.tensor) -> None:
    tl.store(pointer + offset, 1.0)


def write_far_away(device: torch.device) -> None:
    """Write 16 TiB behind a tensor of one element."""
    stray[(1,)](torch.zeros(1, device=device), 1 << 42)
