"""What fills the input of a quantiser, and what that catches. Names and conditions alone, so that it needs no torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _always(_: str, __: str) -> str | None:
    return None


def _below_eps(source: str, _: str) -> str | None:
    return "float16 has no numbers as small" if source == "fp16" else None


@dataclass(frozen=True)
class QuantFamily:
    """A way to fill x. ``why_not(source, target)`` says why x of that dtype cannot be filled so for that format."""

    name: str
    catches: str
    why_not: Callable[[str, str], str | None] = _always
    is_special: bool = False


_FAMILIES = (
    QuantFamily(
        "ties",
        "rounding that is not to nearest even: every value halfway between two codes, under scales that are powers of "
        "two, so that x / scale is exact whichever way it is computed",
    ),
    QuantFamily(
        "near-ties",
        "values rounded twice on their way: the neighbours of the halfway values in the dtype of x",
    ),
    QuantFamily(
        "codes",
        "a code flushed, a sign lost, the largest code overshot, elements in another order: every finite code, times "
        "a power of two, which comes back as it was",
    ),
    QuantFamily(
        "group-tags",
        "a scale of another group, row or lane: groups of very different magnitude, the largest element anywhere in "
        "its group, the first and the last lane among others, of either sign",
    ),
    QuantFamily("normal", "scales and codes that are off by little: normal values with all the bits that x has"),
    QuantFamily(
        "scale-edges",
        "powers of two that are rounded down or to nearest: largest elements that give a power of two, or something "
        "just above or below one",
    ),
    QuantFamily("zeros", "groups and rows of zeros of either sign: 0 / 0, or the scale of another group"),
    QuantFamily("small", "eps that is missing or another: largest elements around 1e-10 and subnormal", _below_eps),
    QuantFamily("large", "overflow on the way: largest elements at the end of the range of x"),
    QuantFamily(
        "one-special",
        "a NaN or an infinity that is lost, or that reaches other groups than its own",
        is_special=True,
    ),
)
FAMILIES = {family.name: family for family in _FAMILIES}
