"""Relations: operands made from others, so that the result of one call says what that of another has to be.

Nothing but the two results is needed to see that they disagree (metamorphic testing: Chen, Cheung and Yiu,
HKUST-CS98-01, 1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cases.operands import Operands
from cases.problem import Problem
from cases.relations import reorder, rescale, zeros
from cases.relations.related import Related
from cases.stream import Stream
from reference import Arithmetic

Strength = Literal["any", "declared", "bound"]
Transform = Callable[[Operands, Problem, Stream], Related | str]


def _every(_: Arithmetic) -> bool:
    return True


def _adds_32_at_once(arithmetic: Arithmetic) -> bool:
    return arithmetic.group % reorder.GROUP == 0


def _rounds_both_signs_alike(arithmetic: Arithmetic) -> bool:
    return "floor" not in (arithmetic.alignment, arithmetic.normalisation)


@dataclass(frozen=True)
class Relation:
    """A way to make related operands, and how much of their result is owed.

    ``any``: every bit, whatever the arithmetic, because every product and every scale stays the same number up to a
    power of two. ``declared``: every bit where a declared arithmetic ``keeps`` it; others may treat an edge or a tail
    in another order. ``bound``: no bit, both results are right in their own way. ``transform`` returns a sentence
    where the values at hand have no related ones.
    """

    name: str
    strength: Strength
    transform: Transform
    keeps: Callable[[Arithmetic], bool] = _every


RELATIONS = {
    r.name: r
    for r in (
        Relation("permute-rows", "declared", reorder.permute_rows),
        Relation("permute-columns", "declared", reorder.permute_columns),
        Relation("permute-n-blocks", "declared", reorder.permute_n_blocks),
        Relation("permute-k-in-groups", "declared", reorder.permute_k_in_groups, _adds_32_at_once),
        Relation("negate-a", "declared", zeros.negate_a, _rounds_both_signs_alike),
        Relation("negate-lanes", "any", zeros.negate_lanes),
        Relation("move-power-of-two", "any", rescale.move_power_of_two),
        Relation("scale-row", "any", rescale.scale_rows),
        Relation("scale-n-block", "any", rescale.scale_n_blocks),
        Relation("zero-block", "any", zeros.zero_block),
        Relation("append-zero-k", "bound", zeros.append_zero_k),
        Relation("permute-k-blocks", "bound", reorder.permute_k_blocks),
        Relation("permute-k", "bound", reorder.permute_k),
        Relation("split-k-in-two", "bound", zeros.split_k),
    )
}
"""Every relation by the name of its scenario."""

__all__ = ["RELATIONS", "Related", "Relation"]
