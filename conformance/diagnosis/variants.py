"""Arithmetics to try: the published ones, and every single change of a parameter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

from reference import ARITHMETICS, Arithmetic
from reference.arithmetic import ScaleOrder
from reference.blocks import BLOCK, ceil_div


def variations(arithmetic: Arithmetic, recipe: str) -> dict[str, tuple[Arithmetic, ...]]:
    """Every parameter of ``arithmetic`` with the other values that a recording should tell from its own."""
    orders = [order for order in get_args(ScaleOrder) if order != arithmetic.order(recipe)]
    return {
        "group": (replace(arithmetic, group=16), replace(arithmetic, group=64)),
        "fraction_bits": tuple(replace(arithmetic, fraction_bits=bits) for bits in (12, 14, 25)),
        "alignment": (replace(arithmetic, alignment="floor"), replace(arithmetic, alignment="nearest")),
        "normalisation": (replace(arithmetic, normalisation="floor"), replace(arithmetic, normalisation="nearest")),
        "promotion": (replace(arithmetic, promotion=64), replace(arithmetic, promotion=256)),
        "scale_order": tuple(replace(arithmetic, scale_order=order) for order in orders),
        "fused": (replace(arithmetic, fused=False),),
    }


def candidates(arithmetic: Arithmetic, recipe: str, k: int) -> Iterator[Arithmetic]:
    """``arithmetic``, the published ones, its single variations, rounding throughout, and none of the promotion."""
    yield arithmetic
    yield from (other for other in ARITHMETICS.values() if other != arithmetic)
    for parameter, others in variations(arithmetic, recipe).items():
        for other in others:
            yield replace(other, name=f"{arithmetic.name} with {parameter} {getattr(other, parameter)}")
    rounding = replace(arithmetic, alignment="nearest", normalisation="nearest")
    yield replace(rounding, name=f"{arithmetic.name} rounding instead of truncating")
    everything = max(1, ceil_div(k, BLOCK)) * BLOCK
    yield replace(arithmetic, promotion=everything, name=f"{arithmetic.name} without promotion")
