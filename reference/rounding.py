"""Rounding done right: a true fused multiply-add, and one rounding from float64 to the output dtype."""

from __future__ import annotations

import torch
from torch import Tensor


def round_to_odd_sum(x: Tensor, y: Tensor) -> Tensor:
    """``x + y`` in float64, rounded to odd.

    A later rounding to 51 bits or fewer then equals one rounding of the exact sum (Boldo and Melquiond,
    "Emulation of FMA and correctly rounded sums", IEEE TC 57(4), 2008).
    """
    total = x + y
    virtual = total - x
    error = (x - (total - virtual)) + (y - virtual)
    bits = total.view(torch.int64)
    inexact_and_even = (error != 0) & ((bits & 1) == 0) & torch.isfinite(total)
    step = torch.where((error > 0) == (total > 0), 1, -1)
    return torch.where(inexact_and_even, bits + step, bits).view(torch.float64)


def fma(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """``x * y + z`` of float32 tensors with one rounding to float32, broadcasting; subnormals are kept.

    The product of two float32 is exact in float64, so only the sum has to be protected from rounding twice.
    """
    return round_to_odd_sum(x.double() * y.double(), z.double()).float()


def admissible_interval(exact: Tensor, error: Tensor, out_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Smallest and largest ``out_dtype`` result of a value within ``error`` of ``exact`` (float64), as float64.

    Rounding is monotone, so every correctly rounded result lies between the two correctly rounded ends, the overflow to
    infinity included.
    """
    low, high = (round_to(exact + side * error, out_dtype).double() for side in (-1, 1))
    return low, high


def round_to(exact: Tensor, out_dtype: torch.dtype) -> Tensor:
    """Float64 ``exact`` rounded once, to nearest even, to ``out_dtype`` (float32, bfloat16 or float16)."""
    if out_dtype == torch.float32:
        return exact.float()
    nearest = exact.float()
    residue = exact - nearest.double()
    bits = nearest.view(torch.int32)
    adjust = (residue != 0) & ((bits & 1) == 0) & torch.isfinite(nearest)
    step = torch.where((residue > 0) == (nearest > 0), 1, -1).int()
    odd = torch.where(adjust & (nearest != 0), bits + step, bits).view(torch.float32)
    return odd.to(out_dtype)
