"""The tensors of the value families."""

from __future__ import annotations

from collections.abc import Callable

from cases.case import Case
from cases.fill import exact, lone, ordinary, scales, special
from cases.fill.values import Values
from cases.stream import Stream

__all__ = ["FILLS", "TAGGED", "Values"]

FILLS: dict[str, Callable[[Case, Stream], Values]] = {
    "tagged-integers": exact.tagged_integers,
    "integer-codes": exact.integer_codes,
    "subnormal-codes": exact.subnormal_codes,
    "odd-scales": scales.odd_scales,
    "full-scales": lone.full_scales,
    "code-pairs": lone.code_pairs,
    "one-scale": exact.one_scale,
    "signed-scales": scales.signed_scales,
    "wide-scales": scales.wide_scales,
    "zero-blocks": scales.zero_blocks,
    "one-nan": special.one_nan,
    "overflow": lone.overflow,
    "uniform-codes": ordinary.uniform_codes,
    "quantised-normal": ordinary.quantised_normal,
    "quantised-outliers": ordinary.quantised_outliers,
    "positive-codes": ordinary.positive_codes,
    "special-values": special.special_values,
    "subnormal-scales": special.subnormal_scales,
}
TAGGED = (
    "tagged-integers",
    "integer-codes",
    "subnormal-codes",
    "odd-scales",
    "full-scales",
    "signed-scales",
    "wide-scales",
    "zero-blocks",
)
"""Families whose scales are tags, so that no wrong index may give them back."""
