"""What a matrix unit does, as parameters.

The measured SM90 values and how they were found are in docs/arithmetic.md.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Arithmetic:
    """A dot-product unit that aligns products to the largest exponent and truncates, promoted to float32 per K block.

    ``group`` products and the running value enter one fused dot product; all are cut toward zero to
    ``fraction_bits`` below the largest exponent, added exactly, and the sum is cut to ``fraction_bits + 1``
    significant bits.
    """

    name: str
    group: int
    fraction_bits: int
    source: str


SM90 = Arithmetic(
    name="sm90",
    group=32,
    fraction_bits=13,
    source="measured on NVIDIA H200 (torch 2.11.0+cu130, cuBLAS 13.1.0.3): wgmma k32, promoted every 128",
)
ARITHMETICS = {SM90.name: SM90}
"""The arithmetics that a backend may declare, by name."""
