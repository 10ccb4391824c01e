"""What SM90 adds up between two promotions: by the hardware where it is there, else by the bit model, and only once."""

from __future__ import annotations

from functools import cache, lru_cache

import torch
from torch import Tensor

from reference import SM90
from reference.blocks import BLOCK
from reference.engine import engine_for

WORD = 16
"""`torch._scaled_mm` takes columns and lanes by so many; other products are left to the bit model."""


def sum_of_blocks(a: Tensor, b: Tensor) -> Tensor:
    """What SM90 computes for FP8 codes a [M, lanes] and b [N, lanes] between two promotions, float32 [M, N].

    More lanes than a K block has are promoted with a scale of one.
    """
    if a.device.type == "cpu":
        octets = (x.contiguous().view(torch.uint8) for x in (a, b))
        return _known_sum(*((x.numpy().tobytes(), x.shape[0]) for x in octets), a.dtype, b.dtype).clone()
    return by_hardware(a, b) if _is_for_hardware(a, b) else by_model(a, b)


def by_hardware(a: Tensor, b: Tensor) -> Tensor:
    """The sum as the tensor cores of an SM90 compute it. At large shapes the bit model takes a hundred times longer."""
    one = torch.ones((), dtype=torch.float32, device=a.device)
    return torch._scaled_mm(a.contiguous(), b.contiguous().t(), one, one, out_dtype=torch.float32)


def by_model(a: Tensor, b: Tensor) -> Tensor:
    """The sum by the bit model, on any device."""
    out = torch.empty(a.shape[0], b.shape[0], dtype=torch.float32, device=a.device)
    unit = engine_for(a.device, SM90, macs=a.shape[0] * b.numel())
    for tile, products in unit.products(a, b, SM90):
        out[tile.rows, tile.cols] = products.sum(0)
    return out


def _is_for_hardware(a: Tensor, b: Tensor) -> bool:
    """Whether the hardware takes these operands, and no more of them than it promotes at once."""
    fits = a.shape[1] <= BLOCK and not a.shape[1] % WORD and not b.shape[0] % WORD and a.numel() and b.numel()
    return bool(fits) and a.dtype == b.dtype == torch.float8_e4m3fn and _is_sm90(a.device)


@cache
def _is_sm90(device: torch.device) -> bool:
    return device.type == "cuda" and not torch.version.hip and torch.cuda.get_device_capability(device) == (9, 0)


@lru_cache(maxsize=512)
def _known_sum(a: tuple[bytes, int], b: tuple[bytes, int], *dtypes: torch.dtype) -> Tensor:
    """The sum for operands that stand for themselves: seeded kernels are given the same ones again and again."""
    read = (torch.frombuffer(bytearray(octets), dtype=torch.uint8).view(rows, -1) for octets, rows in (a, b))
    return by_model(*(x.view(dtype) for x, dtype in zip(read, dtypes, strict=True)))
