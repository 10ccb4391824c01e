"""Checks that kill no seeded fault alone and are kept: what each protects, and a fault that would need it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kept:
    """Why a check stays: what it ``protects``, and the seeded fault that ``needs`` it."""

    protects: str
    needs: str


_MODE = "Needs nothing but two results: shows templates of {} that are wrong where those of the other mode are right."
_SHARED = "Needs nothing but two results: shows {} even if the oracle makes the same mistake."
KEPT: dict[str, Kept] = (
    {
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
    | {
        f"state/{name}": Kept(_MODE.format(what), "compiled-differs")
        for name, what in (("compiled", "the default mode"), ("compiled-autotune", "max-autotune"))
    }
    | {
        "state/same-pointers": Kept(
            "Needs no streams or graphs, whose states change contents behind a pointer, too; names the operand.",
            "weights-by-tensor",
        )
    }
)
"""By check. A relation fails the fault that needs it where that has been put into the oracle, too, and a mode of the
compiler where it has been put into that mode alone (`tests`). On a CPU, which has neither streams nor a second mode,
`compiled` and `same-pointers` kill their faults alone."""
