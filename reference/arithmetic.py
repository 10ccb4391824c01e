"""What a matrix unit does, as parameters. How each was found is in docs/arithmetic.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Rounding = Literal["truncate", "floor", "nearest"]
ScaleOrder = Literal["scales-first", "a-then-b", "b-then-a"]
Status = Literal["measured", "read", "assumed"]


@dataclass(frozen=True)
class Arithmetic:
    """A dot-product unit that aligns products to the largest exponent, and the float32 promotion behind it.

    ``group`` products and the running value enter one fused dot product: all are brought to multiples of
    2^(emax - ``fraction_bits``) by ``alignment``, added exactly, and the sum is brought to ``fraction_bits`` + 1
    significant bits (24 at most) by ``normalisation``. After every ``promotion`` of K the running value is scaled in
    ``scale_order`` (None: as the recipe has it on SM90), added to a float32 accumulator, by one rounding where
    ``fused``, and starts again from zero.
    """

    name: str
    group: int
    fraction_bits: int
    source: str
    status: Status = "assumed"
    alignment: Rounding = "truncate"
    normalisation: Rounding = "truncate"
    promotion: int = 128
    scale_order: ScaleOrder | None = None
    fused: bool = True

    @property
    def significant_bits(self) -> int:
        """Bits of the running value: what the grid leaves, within a float32."""
        return min(self.fraction_bits + 1, 24)

    def order(self, recipe: str) -> ScaleOrder:
        """In which order scales are applied under ``recipe``."""
        by_recipe: ScaleOrder = "a-then-b" if recipe == "1x128-1x128" else "scales-first"
        return self.scale_order or by_recipe


SM90 = Arithmetic(
    name="sm90",
    group=32,
    fraction_bits=13,
    status="measured",
    source="measured on NVIDIA H200 (torch 2.11.0+cu130, cuBLAS 13.1.0.3): wgmma k32, promoted every 128",
)
SM89 = Arithmetic(
    name="sm89",
    group=16,
    fraction_bits=13,
    status="read",
    source="MMA-Sim (arXiv 2511.10909): Ada, FP8 as two groups of 16 with 13 fraction bits",
)
SM100 = Arithmetic(
    name="sm100",
    group=32,
    fraction_bits=25,
    status="read",
    source="MMA-Sim (arXiv 2511.10909): Blackwell tcgen05, FP8 in groups of 32 with 25 fraction bits",
)
SM90_MMA_SYNC = Arithmetic(
    name="sm90-mma-sync",
    group=16,
    fraction_bits=25,
    status="assumed",
    source="FP8 mma.sync on sm_90 runs on the FP16 path: 25 fraction bits; group of 16 assumed",
)
CDNA3 = Arithmetic(
    name="cdna3",
    group=16,
    fraction_bits=24,
    alignment="floor",
    normalisation="nearest",
    status="assumed",
    source="MMA-Sim (arXiv 2511.10909): CDNA3, 24 bits, floor when combining; grouping and final rounding assumed",
)
ARITHMETICS = {a.name: a for a in (SM90, SM89, SM100, SM90_MMA_SYNC, CDNA3)}
"""The arithmetics that a backend may declare, by name."""
