"""Checks that kill no seeded fault alone and are kept: what each protects, and a fault that would need it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kept:
    """Why a check stays: what it ``protects``, and the seeded fault that ``needs`` it."""

    protects: str
    needs: str


_SHARED = "Needs nothing but two results: shows {} even if the oracle makes the same mistake."
KEPT: dict[str, Kept] = {
    f"relation/{name}": Kept(_SHARED.format(what), needs)
    for name, what, needs in (
        ("permute-rows", "a row treated by its place", "fragment-row-scale"),
        ("permute-columns", "a column treated by its place", "element-zeroed"),
        ("permute-n-blocks", "an N block treated by its place", "first-n-block-for-all"),
        ("permute-k-in-groups", "a lane treated by its place in a group", "lanes-exchanged"),
        ("permute-k", "a lane treated by its place in a K block", "narrow-k-tile-scale-index"),
        ("permute-k-blocks", "a K block treated by its place", "scale-prefetch-one-ahead"),
        ("negate-a", "a code whose negative is decoded otherwise", "negative-zero-decoded-wrongly"),
        ("split-k-in-two", "K blocks that are not added up", "wide-k-tile-shares-scale"),
    )
}
"""By check. Each of them fails the fault that needs it where that has been put into the oracle, too (`tests`)."""
