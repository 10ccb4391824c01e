"""Value families: what fills the operands of a problem, and how exactly the result is then known.

Only names, tiers and conditions live here, so that planning needs no torch; the tensors come from `cases.fill`.
"""

from __future__ import annotations

from cases import conditions, places
from cases.conditions import scale_limit
from cases.family import Family, Tier, always
from cases.places import injection_of

__all__ = ["FAMILIES", "PLANNED", "Family", "Tier", "injection_of", "scale_limit"]

PLANNED = ("tagged-integers", "uniform-codes", "quantised-normal")
"""The families that the survey fills problems with, exact ones apart."""
_EXACT = (
    Family(
        "tagged-integers",
        "exact",
        conditions.tagged,
        "any wrong scale, code, stride, tail or store: ternary data under distinct integer scales, every partial "
        "sum exact on every known unit in any order",
    ),
    Family(
        "integer-codes",
        "exact",
        conditions.integer_codes,
        "a lost product, a flipped sign, a zeroed element: integers to 11, none of them zero, under powers of two that "
        "differ between neighbours",
    ),
    Family(
        "subnormal-codes",
        "exact",
        conditions.subnormal_codes,
        "subnormal codes flushed or decoded wrongly, on either side",
    ),
    Family(
        "odd-scales",
        "exact",
        conditions.odd_scales,
        "scales cut to bfloat16, float16 or a power of two on the way: 12 odd mantissa bits on one side",
    ),
    Family(
        "full-scales",
        "exact",
        always,
        "scales cut to fewer than 24 bits: one product a result, in every lane and block over the rows",
    ),
    Family(
        "code-pairs",
        "exact",
        always,
        "a pair of codes multiplied wrongly, signed zeros and NaN codes among them, in any lane",
        seeds=lambda problem: min(128, problem.k),
    ),
    Family(
        "one-scale",
        "exact",
        conditions.one_scale,
        "a scale read in another place: ones, and a single scale that the seed edits",
        seeds=places.scales,
        note=places.note_edited_scale,
    ),
    Family("signed-scales", "exact", conditions.tagged, "the sign of a scale lost, a scale of zero taken for none"),
    Family(
        "wide-scales",
        "exact",
        conditions.tagged,
        "scales of 1e-23 to 1e-33 on one side and their inverse on the other: a factor that over- or underflows, or an "
        "exponent that is clamped",
    ),
    Family(
        "zero-blocks",
        "exact",
        conditions.zero_blocks,
        "blocks of zeros of either sign whose large scale leaks",
        may_share_scales=False,
    ),
    Family(
        "one-nan",
        "exact",
        lambda problem: places.needs_rows(problem) or conditions.tagged(problem),
        "one NaN or infinity that reaches other results than its own, or not all of them",
        seeds=places.injections,
        note=places.note_injection,
        is_special=True,
    ),
    Family(
        "overflow",
        "exact",
        always,
        "stores that saturate, or overflow too early or too late, in each output dtype: one product a result, just "
        "inside and just outside",
        is_special=True,
    ),
)
_BOUND = (
    Family(
        "uniform-codes",
        "bound",
        always,
        "faults of magnitude and of scales: every finite code, independent scales with odd mantissas "
        "over six binades on each side",
    ),
    Family(
        "quantised-normal",
        "bound",
        always,
        "faults on the data that engines see: normal values of varied magnitude through the real quantisers",
    ),
    Family(
        "quantised-outliers",
        "bound",
        always,
        "faults on activations with loud channels and tokens, through the real quantisers",
    ),
    Family(
        "positive-codes",
        "bound",
        always,
        "errors of one direction that add up: all codes and scales positive, half of the scales even, so that one "
        "multiplied and divided again in place is not what it was",
    ),
)
_DECLARED = (
    Family(
        "special-values",
        "declared",
        always,
        "NaN, infinities, zeros of either sign, subnormals and overflow in codes and scales, every pair of them; "
        "legal kernels differ here, so only a declared arithmetic is held to it",
        is_special=True,
    ),
    Family(
        "subnormal-scales",
        "declared",
        always,
        "scales and products of scales that are subnormal or underflow; legal kernels differ here too",
        is_special=True,
    ),
)
FAMILIES = {family.name: family for family in (*_EXACT, *_BOUND, *_DECLARED)}
