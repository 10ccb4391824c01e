"""Sections over M, N and K: a grid of edges, and every axis swept alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from cases.sections.registry import FULL, ORDINARY, OUTS, QUICK, STANDARD, Graded, fill, graded, section
from cases.shapes import SQUARE, TILE_WALKS, UNALIGNED, UPSTREAM, Shape, grid, k_sweep, m_sweep, n_sweep, split_k

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


@section("tile-walks", "many tiles in both directions, in numbers that no group of tiles divides")
def _tile_walks() -> Iterator[Graded]:
    for i, shape in enumerate(TILE_WALKS):
        yield from graded(STANDARD if i else QUICK, fill(shape, ("tagged-integers",), (OUTS[i % 3],)))
        yield from graded(FULL, fill(shape, ORDINARY, OUTS))


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
