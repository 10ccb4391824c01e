"""Sections over codes and scales, on few shapes."""

from __future__ import annotations

from collections.abc import Iterator

from cases.sections.registry import FULL, OUTS, QUICK, STANDARD, Graded, fill, graded, section
from cases.shapes import SMALL

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
