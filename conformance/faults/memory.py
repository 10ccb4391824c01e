"""Raw memory behind a tensor, as a kernel with wrong strides or bounds sees it. Never outside the storage."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def memory(x: Tensor) -> Tensor:
    """The whole storage of ``x`` as one flat tensor that shares it; bytes where the elements are bytes."""
    dtype = torch.uint8 if x.element_size() == 1 else x.dtype
    return torch.empty(0, dtype=dtype, device=x.device).set_(x.untyped_storage())


def peek(x: Tensor, strides: Sequence[int], *, offset: int | None = None, wrap: int | None = None) -> Tensor:
    """What lies where a matrix shaped as ``x`` would be, had it these ``strides`` (and ``offset``).

    Addresses past the end of the storage give its last element; those past ``wrap`` start again from ``offset``.
    """
    rows = torch.arange(x.shape[0], device=x.device)[:, None] * strides[0]
    columns = torch.arange(x.shape[1], device=x.device)[None, :] * strides[1]
    index: Tensor = rows + columns
    if wrap is not None:
        index = index % wrap
    start, flat = int(x.storage_offset()) if offset is None else offset, memory(x)
    return flat[(index + start).clamp(max=flat.numel() - 1)].view(x.dtype)


def after(x: Tensor) -> int:
    """Index in `memory` of the element that follows the last one of ``x``."""
    last = sum((int(size) - 1) * int(stride) for size, stride in zip(x.shape, x.stride(), strict=True))
    return int(x.storage_offset()) + last + 1
