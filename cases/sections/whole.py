"""The section over scales that cover all of K, for kernels that say they have them: what a CPU computes, too."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

from cases.problem import WHOLE_RECIPES
from cases.scenarios import SCENARIOS, Scenario
from cases.sections.registry import FULL, ORDINARY, OUTS, QUICK, STANDARD, Graded, fill, graded, section
from cases.shapes import SMALL, Shape

SCALES = ("odd-scales", "full-scales", "signed-scales", "wide-scales")
CODES = ("subnormal-codes", "zero-blocks", "positive-codes", "quantised-outliers")
RAGGED: Shape = SMALL[0]
OTHERS: tuple[Shape, ...] = ((83, 272, 640), (1, 16, 128), (17, 112, 1168), (130, 256, 272))
"""M beyond a tile and odd, one of everything, K beyond 1024, whole N blocks."""
CALLED = ("repeat", "interleaved", "same-pointers", "kept-results", "restrided", "batch-invariance", "fake")
AT_ONCE = (
    "layout/scales-strided",
    "layout/as-rows-padded",
    "layout/a-rows-padded",
    "layout/poison-nan",
    "relation/permute-rows",
    "relation/scale-row",
    "state/repeat",
    "state/fake",
)
"""What `quick` tries beyond plain calls."""


@section("tensor-and-row", "one scale a tensor or a row, which covers all of K: judged where a kernel says it has them")
def _tensor_and_row() -> Iterator[Graded]:
    for recipe in WHOLE_RECIPES:
        yield from _values(recipe)
        outs = cycle(OUTS)
        for scenario in _scenarios(recipe):
            level = QUICK if scenario.prefix in AT_ONCE else STANDARD
            family = "uniform-codes" if scenario.kind == "relation" else "tagged-integers"
            yield from graded(level, fill(RAGGED, (family,), (next(outs),), scenario=scenario, recipe=recipe))


def _values(recipe: str) -> Iterator[Graded]:
    for i, family in enumerate((*ORDINARY, *SCALES, *CODES)):
        level = STANDARD if family in CODES else QUICK
        yield from graded(level, fill(RAGGED, (family,), (OUTS[i % 3],), recipe=recipe))
        again = FULL if family in CODES else STANDARD
        yield from graded(again, fill(RAGGED, (family,), (OUTS[(i + 1) % 3],), seeds=(1,), recipe=recipe))
    for i, shape in enumerate(OTHERS):
        families = (*ORDINARY, SCALES[i % 4])
        yield from graded(STANDARD, fill(shape, families, (OUTS[i % 3],), seeds=(i,), recipe=recipe))
        yield from graded(FULL, fill(shape, (*families, *CODES), OUTS, seeds=range(3), recipe=recipe))
    yield from graded(STANDARD, fill((0, 16, 144), ("tagged-integers",), OUTS, recipe=recipe))
    yield from graded(STANDARD, fill((2, 16, 144), ("one-scale",), ("fp32",), seeds=range(18), recipe=recipe))
    yield from graded(STANDARD, fill(RAGGED, ("one-nan",), ("fp32",), seeds=(0, 1, 6, 15), recipe=recipe))
    yield from graded(STANDARD, fill((104, 208, 128), ("overflow",), ("fp16",), recipe=recipe))


def _scenarios(recipe: str) -> Iterator[Scenario]:
    """Relations, some states, malformed operands; every layout where there is more than one scale a side."""
    for scenario in SCENARIOS.values():
        wanted = scenario.kind in ("relation", "malformed") or (scenario.kind == "state" and scenario.name in CALLED)
        if wanted or (scenario.kind == "layout" and (recipe == "rowwise" or scenario.prefix in AT_ONCE)):
            yield scenario
