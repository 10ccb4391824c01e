"""Random bytes that are the same on every machine, device and version of torch: SplitMix64 on counters.

Source of the generator: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import torch
from torch import Tensor


def _signed(word: int) -> int:
    return word - (1 << 64) if word >= 1 << 63 else word


GAMMA = _signed(0x9E3779B97F4A7C15)
EVEN_BYTES = 0x00FF00FF00FF00FF
MIX_1, MIX_2 = _signed(0xBF58476D1CE4E5B9), _signed(0x94D049BB133111EB)


def _xor_shift(z: Tensor, by: int) -> Tensor:
    logical = (z >> by) & ((1 << (64 - by)) - 1)
    return z ^ logical


@dataclass(frozen=True)
class Stream:
    """An endless supply of words under a ``name``: the same name gives the same words, another one unrelated ones."""

    name: str
    device: torch.device

    def child(self, name: str) -> Stream:
        """An independent stream below this one."""
        return Stream(f"{self.name}/{name}", self.device)

    def words(self, *shape: int) -> Tensor:
        """Uniform 64-bit words as int64."""
        key = _signed(int.from_bytes(hashlib.blake2b(self.name.encode(), digest_size=8).digest(), "little"))
        count = torch.Size(shape).numel()
        z = torch.arange(1, count + 1, dtype=torch.int64, device=self.device) * GAMMA + key
        z = _xor_shift(z, 30) * MIX_1
        z = _xor_shift(z, 27) * MIX_2
        return _xor_shift(z, 31).reshape(shape)

    def octets(self, *shape: int) -> Tensor:
        """Uniform bytes as uint8."""
        count = torch.Size(shape).numel()
        return self.words(-(-count // 8)).view(torch.uint8)[:count].reshape(shape)

    def below(self, limit: int, *shape: int) -> Tensor:
        """Integers 0 .. limit-1 as int64, biased by less than limit / 2^31."""
        return (self.words(*shape) & 0x7FFFFFFF) % limit

    def normal(self, *shape: int) -> Tensor:
        """Roughly normal float32 with deviation 0.82: sums of eight bytes, so exact on every device."""
        words = self.words(*shape)
        pairs = (words & EVEN_BYTES) + ((words >> 8) & EVEN_BYTES)
        total = ((pairs * 0x0001000100010001) >> 48) & 0xFFFF
        return (total - 1020).float() * 2.0**-8

    def floats(self, low: int, high: int, *shape: int) -> Tensor:
        """Positive float32 with 24 random mantissa bits, the last one set, and exponents low .. high-1."""
        words = self.words(*shape)
        mantissa = (words & 0x7FFFFF) | 1
        exponent = ((words >> 23) & 0x7FFFFFFF) % (high - low) + low + 127
        return ((exponent << 23) | mantissa).int().view(torch.float32)
