"""The four FP8 formats: limits, the decoding of all 256 codes, and casts that clamp explicitly.

Sources: OCP 8-bit Floating Point Specification 1.0 (E4M3, E5M2); ONNX float8 documentation (the FNUZ pair).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import torch
from torch import Tensor

NO_EXPONENT = -60
"""Exponent of zeros: two of them fit int8, and one beside any finite code stays below every real product."""


@dataclass(frozen=True)
class Format:
    """One FP8 format: sign bit, ``exponent_bits``, ``mantissa_bits``, ``bias`` and what its top codes mean."""

    name: str
    dtype: torch.dtype
    exponent_bits: int
    mantissa_bits: int
    bias: int
    max: float
    quant_max: float
    """The limit that quantisers scale to: upstream uses 224 and not 240 on FNUZ hardware."""
    infinity: bool = False
    fnuz: bool = False

    @property
    def min_exponent(self) -> int:
        """Exponent of the smallest normal number; subnormals share it."""
        return 1 - self.bias

    def decode_code(self, code: int) -> float:
        """Value of one 8-bit ``code``, from the bit fields alone."""
        sign = -1.0 if code & 0x80 else 1.0
        exponent = (code & 0x7F) >> self.mantissa_bits
        mantissa = code & ((1 << self.mantissa_bits) - 1)
        if self.fnuz and code == 0x80:
            return float("nan")
        if not self.fnuz and exponent == (1 << self.exponent_bits) - 1:
            if self.infinity:
                return sign * float("inf") if mantissa == 0 else float("nan")
            if mantissa == (1 << self.mantissa_bits) - 1:
                return float("nan")
        fraction = mantissa / (1 << self.mantissa_bits)
        if exponent == 0:
            return sign * fraction * 2.0**self.min_exponent
        return sign * (1 + fraction) * 2.0 ** (exponent - self.bias)

    def exponent_of_code(self, code: int) -> int:
        """``max(floor(log2|v|), min_exponent)``, the exponent the multiplier uses; zeros get `NO_EXPONENT`."""
        if self.decode_code(code) == 0:
            return NO_EXPONENT
        return max((code & 0x7F) >> self.mantissa_bits, 1) - self.bias

    @cached_property
    def values(self) -> Tensor:
        """All 256 codes decoded, float32 [256]."""
        return torch.tensor([self.decode_code(c) for c in range(256)], dtype=torch.float32)

    @cached_property
    def exponents(self) -> Tensor:
        """Multiplier exponents of all 256 codes, int8 [256]."""
        return torch.tensor([self.exponent_of_code(c) for c in range(256)], dtype=torch.int8)


E4M3FN = Format("e4m3fn", torch.float8_e4m3fn, 4, 3, 7, 448.0, 448.0)
E5M2 = Format("e5m2", torch.float8_e5m2, 5, 2, 15, 57344.0, 57344.0, infinity=True)
E4M3FNUZ = Format("e4m3fnuz", torch.float8_e4m3fnuz, 4, 3, 8, 240.0, 224.0, fnuz=True)
E5M2FNUZ = Format("e5m2fnuz", torch.float8_e5m2fnuz, 5, 2, 16, 57344.0, 57344.0, fnuz=True)
FORMATS = {f.name: f for f in (E4M3FN, E5M2, E4M3FNUZ, E5M2FNUZ)}


def format_of(dtype: torch.dtype) -> Format:
    """The `Format` of an FP8 ``dtype``. Raises TypeError for any other dtype."""
    for candidate in FORMATS.values():
        if candidate.dtype == dtype:
            return candidate
    raise TypeError(f"{dtype} is no FP8 format; choose one of {', '.join(str(f.dtype) for f in FORMATS.values())}")


@cache
def _table(name: str, what: str, device: torch.device) -> Tensor:
    table: Tensor = getattr(FORMATS[name], what)
    return table.to(device)


def decode(x: Tensor) -> Tensor:
    """Values of FP8 tensor ``x`` as float32, same shape; looked up, so independent of torch's casts."""
    table = _table(format_of(x.dtype).name, "values", x.device)
    return table[x.view(torch.uint8).int()]


def exponents(x: Tensor) -> Tensor:
    """Multiplier exponents of FP8 tensor ``x`` as int8, same shape; see `Format.exponent_of_code`."""
    table = _table(format_of(x.dtype).name, "exponents", x.device)
    return table[x.view(torch.uint8).int()]


def clamping_cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    """``x`` rounded to nearest even in FP8 ``dtype``, saturating at the largest finite value; NaN stays NaN.

    torch's own cast of values out of range changed between 2.11 (NaN) and 2.12 (saturates), so the range is
    enforced before it.
    """
    limit = format_of(dtype).max
    return x.float().clamp(-limit, limit).to(dtype)
