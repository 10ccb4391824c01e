"""The sections of a plan: for each thing that can go wrong, the cases that would show it.

A section yields the cases of every profile, each with the least thorough profile that holds it: what `quick` tries,
`standard` and `full` try too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle

from cases.case import Case
from cases.families import FAMILIES
from cases.layers import MODELS, PARALLEL, model, shards
from cases.problem import RECIPES, Problem
from cases.scenarios import PLAIN, SCENARIOS, Scenario
from cases.shapes import SMALL, SQUARE, UNALIGNED, UPSTREAM, Shape, grid, k_sweep, m_sweep, n_sweep, split_k

QUICK, STANDARD, FULL = range(3)
Graded = tuple[int, Case]
"""A case and the least thorough profile that has it."""
OUTS = ("fp32", "bf16", "fp16")
ORDINARY = ("tagged-integers", "integer-codes", "uniform-codes", "quantised-normal")


@dataclass(frozen=True)
class Section:
    """A named part of the plan: ``what`` it is for, and its graded cases."""

    name: str
    what: str
    cases: Callable[[], Iterable[Graded]]


SECTIONS: dict[str, Section] = {}


def section(name: str, what: str) -> Callable[[Callable[[], Iterable[Graded]]], Callable[[], Iterable[Graded]]]:
    """Enter a generator of cases among the `SECTIONS`."""

    def enter(cases: Callable[[], Iterable[Graded]]) -> Callable[[], Iterable[Graded]]:
        SECTIONS[name] = Section(name, what, cases)
        return cases

    return enter


def fill(
    shape: Shape,
    families: Iterable[str],
    outs: Iterable[str],
    *,
    seeds: Iterable[int] = (0,),
    scenario: Scenario = PLAIN,
    recipe: str = RECIPES[0],
) -> Iterator[Case]:
    """The buildable cases of one shape: every family, seed and output dtype, equal inputs together."""
    for family in families:
        for seed in seeds:
            for out in outs:
                case = Case(Problem(*shape, out=out, recipe=recipe), FAMILIES[family], seed, scenario)
                if case.why_not() is None:
                    yield case


def graded(level: int, cases: Iterable[Case]) -> Iterator[Graded]:
    """All ``cases`` at one level."""
    return ((level, case) for case in cases)


QUICK_MACS = 1 << 25
"""Multiply-accumulates up to which `quick` tries a shape of the grid."""


@section("grid", "every pair of an odd or even M, an N and a K at the edges of tiles and blocks")
def _grid() -> Iterator[Graded]:
    for i, shape in enumerate(grid()):
        cheap = shape[2] <= 1040 and math.prod(shape) <= QUICK_MACS
        level = QUICK if cheap and i % 2 == 0 else STANDARD
        yield from graded(level, fill(shape, ORDINARY, OUTS[i % 3 : i % 3 + 1]))
        # Rounded to 16 bits a result may hide one lost product among many, and a sum of zero an element that is zeroed.
        yield from graded(level, fill(shape, ("integer-codes",), ("fp32",)))
        yield from graded(level, fill(shape, ("full-scales",), OUTS[i % 3 : i % 3 + 1]))
        yield from graded(STANDARD, fill(shape, ORDINARY, (OUTS[(i + 1) % 3],), seeds=(i % 3,)))
        yield from graded(FULL, fill(shape, ORDINARY, OUTS, seeds=range(3)))


@section("upstream", "the one shape that upstream's kernel was merged with")
def _upstream() -> Iterator[Graded]:
    yield from graded(QUICK, fill(UPSTREAM, ORDINARY[:2], ("bf16",)))
    yield from graded(STANDARD, fill(UPSTREAM, ORDINARY, OUTS))
    yield from graded(STANDARD, fill(UPSTREAM, ORDINARY, ("bf16",), seeds=(1, 2)))


def _sweep(shapes: Iterable[Shape], quick: Callable[[Shape], bool]) -> Iterator[Graded]:
    for i, shape in enumerate(shapes):
        level = QUICK if quick(shape) else STANDARD
        yield from graded(level, fill(shape, ("tagged-integers",), (OUTS[i % 3],), seeds=(i % 3,)))
        yield from graded(STANDARD, fill(shape, ("integer-codes", "uniform-codes"), (OUTS[i % 3],)))
        yield from graded(FULL, fill(shape, ORDINARY, OUTS, seeds=range(3)))


IN_QUICK = (0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 63, 64, 65, 128, 130, 257)


@section("edges-m", "every M from 0 to 130 and around 256, 4096 and 65536")
def _edges_m() -> Iterator[Graded]:
    return _sweep(m_sweep(), lambda shape: shape[0] in IN_QUICK)


@section("edges-n", "every N a multiple of 16 to 272, around 576 and 7168, more than 64 N blocks")
def _edges_n() -> Iterator[Graded]:
    return _sweep(n_sweep(), lambda shape: shape[1] <= 272)


@section("edges-k", "every K a multiple of 16 to 272, 1 to 20 K blocks, every residue mod 8, more than 128 K blocks")
def _edges_k() -> Iterator[Graded]:
    return _sweep(k_sweep(), lambda shape: shape[2] <= 1024)


@section("unaligned", "N and K that are no multiples of 16: right or refused, unless the kernel says it has them")
def _unaligned() -> Iterator[Graded]:
    for i, shape in enumerate(UNALIGNED):
        yield from graded(QUICK if i < 6 else STANDARD, fill(shape, ORDINARY[:2], (OUTS[i % 3],)))
        yield from graded(STANDARD, fill(shape, ORDINARY, OUTS))


@section("split-k", "large K and few results, where libraries cut K into slices")
def _split_k() -> Iterator[Graded]:
    for i, shape in enumerate(split_k()):
        yield from graded(STANDARD, fill(shape, ORDINARY[:3], (OUTS[i % 3],)))
        yield from graded(FULL, fill(shape, ORDINARY, OUTS, seeds=range(3)))


@section("square", "as many N blocks as K blocks: transposed scales fit")
def _square() -> Iterator[Graded]:
    for i, shape in enumerate(SQUARE):
        yield from graded(QUICK if i < 3 else STANDARD, fill(shape, ("tagged-integers",), (OUTS[i % 3],)))
        yield from graded(STANDARD, fill(shape, ORDINARY[:3], OUTS))


SCALES = ("odd-scales", "full-scales", "signed-scales", "wide-scales")
CODES = ("subnormal-codes", "zero-blocks", "positive-codes", "quantised-outliers")


@section("scales", "scales of 12 and 24 bits, negative, zero, powers of two, tiny and huge ones, on one side at a time")
def _scales() -> Iterator[Graded]:
    for i, shape in enumerate(SMALL):
        level = QUICK if i < 2 else STANDARD
        yield from graded(level, fill(shape, SCALES, (OUTS[i % 3],), seeds=(0, 1)))
        yield from graded(STANDARD, fill(shape, SCALES, OUTS, seeds=range(2)))
        yield from graded(FULL, fill(shape, SCALES, OUTS, seeds=range(6)))


@section("codes", "subnormal codes, blocks of zeros, codes of one sign, outliers as engines see them")
def _codes() -> Iterator[Graded]:
    for i, shape in enumerate(SMALL):
        level = QUICK if i < 2 else STANDARD
        yield from graded(level, fill(shape, CODES, (OUTS[i % 3],), seeds=(0, 1)))
        yield from graded(STANDARD, fill(shape, CODES, OUTS))
        yield from graded(FULL, fill(shape, CODES, OUTS, seeds=range(6)))


@section("code-pairs", "all 65,536 pairs of codes, over the seeds in each of the 128 lanes")
def _code_pairs() -> Iterator[Graded]:
    every = range(128)
    yield from graded(QUICK, fill((256, 256, 128), ("code-pairs",), ("fp32",), seeds=(0, 77)))
    yield from graded(STANDARD, fill((256, 256, 128), ("code-pairs",), ("fp32",), seeds=every))
    yield from graded(STANDARD, fill((256, 256, 400), ("code-pairs",), OUTS, seeds=(3, 50)))
    yield from graded(FULL, fill((256, 256, 400), ("code-pairs",), OUTS, seeds=every))


@section("one-scale", "every scale of a few shapes edited once, alone")
def _one_scale() -> Iterator[Graded]:
    every = range(1000)
    yield from graded(QUICK, fill((3, 144, 272), ("one-scale",), ("fp32",), seeds=every))
    for i, shape in enumerate(((5, 144, 400), (17, 400, 272), (1, 16, 128), (2, 272, 1040))):
        yield from graded(STANDARD, fill(shape, ("one-scale",), (OUTS[i % 2],), seeds=every))
    yield from graded(FULL, fill((130, 272, 640), ("one-scale",), ("fp32",), seeds=every))


@section("special", "NaN and infinities that reach exactly their outputs, overflow to infinity, subnormals")
def _special() -> Iterator[Graded]:
    families = ("one-nan", "overflow", "special-values", "subnormal-scales")
    for i, shape in enumerate((*SMALL, (104, 208, 128))):
        level = QUICK if i == 0 else STANDARD
        yield from graded(level, fill(shape, families, (OUTS[(i + 1) % 3],), seeds=range(0, 16, 3)))
        yield from graded(STANDARD, fill(shape, families[1:], OUTS))
        yield from graded(FULL, fill(shape, families, OUTS, seeds=range(64)))


def _scenarios(kind: str) -> list[Scenario]:
    return [scenario for scenario in SCENARIOS.values() if scenario.kind == kind]


@section("layouts", "the same operands in other memory: strides, offsets, padding, poison, a given out")
def _layouts() -> Iterator[Graded]:
    outs = cycle(OUTS)
    for i, shape in enumerate(SMALL):
        for scenario in _scenarios("layout"):
            families = ("tagged-integers",) if i % 2 else ("tagged-integers", "uniform-codes")
            cases = list(fill(shape, families, (next(outs),), seeds=(i,), scenario=scenario))
            yield from graded(QUICK if i == 0 else STANDARD, cases)


@section("relations", "two calls whose results must agree")
def _relations() -> Iterator[Graded]:
    outs = cycle(OUTS)
    for i, shape in enumerate(SMALL):
        for scenario in _scenarios("relation"):
            families = ("uniform-codes", "quantised-normal")
            cases = list(fill(shape, families, (next(outs),), seeds=(i,), scenario=scenario))
            yield from graded(QUICK if i == 0 else STANDARD, cases)


@section("states", "many calls: repeats, other work between, recycled memory, streams, graphs, torch.compile")
def _states() -> Iterator[Graded]:
    outs = cycle(OUTS)
    for i, shape in enumerate((*SMALL[:6], (64, 576, 2304))):
        for scenario in _scenarios("state"):
            slow = scenario.name.startswith("compiled")
            level = FULL if slow and i > 1 else STANDARD if slow or i else QUICK
            cases = fill(
                shape, ("tagged-integers", "uniform-codes")[i % 2 :], (next(outs),), seeds=(i,), scenario=scenario
            )
            yield from graded(level, list(cases)[:1] if slow else list(cases))


@section("recipes", "the other recipes: blocks on the side of A, rows on both sides")
def _recipes() -> Iterator[Graded]:
    for recipe in RECIPES[1:]:
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
