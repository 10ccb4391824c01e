"""What a report says nothing about, so that nobody takes a statement for more than it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from cases.plan import BLIND
from cases.problem import BLOCK_RECIPES
from conformance.probe import PATHS
from conformance.records import Line
from conformance.statement.declaration import Declaration
from conformance.statement.evidence import Tried
from conformance.statement.minimum import MOST_ROWS, minimum

GAP = 256
"""Sizes between two that were tried, beyond which a gap is told."""
REASONS = 6
"""Reasons for which cases were not tried that are told."""


def untried_of(header: Line, declared: Declaration, tried: Sequence[Tried]) -> Iterator[str]:
    """What a reader must not take from it."""
    yield f"whatever profile {header['profile']} does not try: {BLIND.get(header['profile'], 'it is not known here')}"
    yield _rows_told(tried)
    others = [recipe for recipe in BLOCK_RECIPES if recipe not in declared.recipes]
    if others:
        yield f"recipes that are not its own: {', '.join(others)}"
    paths = ", ".join(path for path in PATHS if path != header["path"])
    yield f"other devices, drivers and versions than these, and the paths {paths}"
    left = Counter(str(each.line["reason"]) for each in tried if each.answer == "untried")
    yield from (f"{count:,} cases: {reason or 'not run'}" for reason, count in left.most_common(REASONS))
    if len(left) > REASONS:
        yield f"{sum(left.values()) - sum(count for _, count in left.most_common(REASONS)):,} more cases"


def _rows_told(tried: Sequence[Tried]) -> str:
    """How many M of the minimum were right, and where there is none."""
    named = {str(each.line["id"]): each for each in tried if each.answer == "right"}
    sizes = sorted({each.case.problem.m for text in minimum() if (each := named.get(text)) and each.case})
    if not sizes:
        return f"every M of 1 to {MOST_ROWS}"
    pairs = zip([0, *sizes], [*sizes, MOST_ROWS + 1], strict=True)
    gaps = [f"none from {below + 1} to {above - 1}" for below, above in pairs if above - below > GAP]
    return f"most M: of 1 to {MOST_ROWS} the minimum tried {len(sizes)}, {', '.join(gaps) or 'the others between them'}"
