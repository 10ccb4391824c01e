"""The operands of a case as a few lines of plain torch, byte for byte those of `cases.fill`. Needs no torch itself."""

from __future__ import annotations

from collections.abc import Callable

from cases import Case
from conformance.scripting.formulas import bound, exact
from conformance.scripting.formulas.pieces import Formula

__all__ = ["FORMULAS", "Formula"]

FORMULAS: dict[str, Callable[[Case], Formula]] = {
    "tagged-integers": exact.tagged_integers,
    "integer-codes": exact.integer_codes,
    "subnormal-codes": exact.subnormal_codes,
    "odd-scales": exact.odd_scales,
    "full-scales": exact.full_scales,
    "code-pairs": exact.code_pairs,
    "one-scale": exact.one_scale,
    "signed-scales": exact.signed_scales,
    "wide-scales": exact.wide_scales,
    "one-nan": exact.one_nan,
    "uniform-codes": bound.uniform_codes,
    "positive-codes": bound.positive_codes,
}
"""By value family. Families that are not here take more lines than a script has."""
