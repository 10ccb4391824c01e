"""Sections over what products are used for: other recipes, the layers of models, sizes beyond 32 bits."""

from __future__ import annotations

from collections.abc import Iterator

from cases.layers import MODELS, PARALLEL, model, shards
from cases.problem import BLOCK_RECIPES
from cases.sections.registry import FULL, ORDINARY, OUTS, QUICK, STANDARD, Graded, fill, graded, section
from cases.shapes import SMALL


@section("recipes", "the other recipes: blocks on the side of A, rows on both sides")
def _recipes() -> Iterator[Graded]:
    for recipe in BLOCK_RECIPES[1:]:
        for i, shape in enumerate((*SMALL, (83, 576, 2304))):
            families = (*ORDINARY, "odd-scales", "signed-scales")
            level = QUICK if i == 1 else STANDARD
            yield from graded(level, fill(shape, families, (OUTS[i % 3],), seeds=(i,), recipe=recipe))


LIMIT, OUTLIERS_LIMIT = 1 << 23, 1 << 22
"""Codes of a weight that `standard` builds, and those that it quantises; larger layers are in `full`."""


@section("layers", "projections of public models under tensor parallelism")
def _layers() -> Iterator[Graded]:
    seen: dict[tuple[int, int], None] = {}
    for name in MODELS:
        for tp in PARALLEL:
            seen.update(dict.fromkeys((shard.n, shard.k) for shard in shards(model(name), tp)))
    for i, (n, k) in enumerate(seen):
        m = (1, 7, 16, 33)[i % 4]
        for family, limit in (("tagged-integers", LIMIT), ("quantised-outliers", OUTLIERS_LIMIT)):
            yield from graded(STANDARD if n * k <= limit else FULL, fill((m, n, k), (family,), ("bf16",)))
        for m in (1, 8, 64, 83, 512, 4096, 8192):
            yield from graded(FULL, fill((m, n, k), ("integer-codes", "quantised-outliers"), (OUTS[m % 3],)))


@section("huge", "more than 2^31 results, operands beyond 4 GiB; every element compared, strip by strip")
def _huge() -> Iterator[Graded]:
    for shape in ((46341, 46368, 128), (33554561, 144, 144), (131, 33554560, 144)):
        yield from graded(FULL, fill(shape, ("tagged-integers",), ("bf16",)))
