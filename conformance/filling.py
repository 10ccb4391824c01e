"""What lies in memory that is nobody's: known finite numbers, or poison."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from cases.stream import Stream
from conformance.layouts import Fill
from reference.formats import format_of

HUGE_SCALE = 3e38


def filling(name: str, fill: Fill, size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """``size`` bytes to lie around operand ``name``, whose elements are of ``dtype``; more bytes begin the same way."""
    if fill == "known":
        return _loud(name, size, dtype, device)
    if dtype.itemsize > 1:
        value = {"nan": torch.nan, "inf": torch.inf, "huge": min(HUGE_SCALE, torch.finfo(dtype).max)}[fill]
        count = -(-size // dtype.itemsize)
        return torch.full((count,), value, dtype=dtype, device=device).view(torch.uint8)[:size]
    return torch.full((size,), _code(fill, dtype), dtype=torch.uint8, device=device)


def _loud(name: str, size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Plausible but loud contents: distinct scales around 1000 beside float32, large finite codes beside FP8."""
    stream = Stream(f"guard/{name}", device)
    if dtype == torch.float32:
        return stream.floats(10, 12, -(-size // 4)).view(torch.uint8)[:size]
    return (stream.octets(size) & 0x87) | 0x68


@cache
def _code(fill: Fill, dtype: torch.dtype) -> int:
    """The FP8 code of a poison: NaN instead of infinity in formats that have none."""
    values = format_of(dtype).values
    if fill == "huge":
        return int(values.nan_to_num(0, 0, 0).argmax())
    wanted = torch.isinf(values) if fill == "inf" else torch.isnan(values)
    return int((wanted if wanted.any() else torch.isnan(values)).int().argmax())
