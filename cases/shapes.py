"""The sizes that are tried: a grid, a sweep along every axis, and the territory of split-K."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Shape = tuple[int, int, int]
"""M, N, K."""

UPSTREAM: Shape = (83, 576, 7168)
"""The one shape that the upstream kernel was merged with."""
M_SIZES = (1, 3, 5, 7, 17, 83, 127, 129)
N_SIZES = (16, 112, 128, 144, 256, 272, 576)
K_SIZES = (128, 144, 256, 384, 512, 640, 1024, 1040, 2304, 7168)

SMALL: tuple[Shape, ...] = (
    (5, 144, 400),  # several N and K blocks, both ragged
    (83, 272, 640),  # 5 K blocks, 3 N blocks, M odd
    (1, 16, 128),  # one of everything
    (130, 256, 272),  # M beyond a tile of 128
    (64, 384, 1024),  # whole blocks and tiles
    (17, 112, 1168),  # 10 K blocks, less than one N block
    (3, 528, 144),  # more N blocks than K blocks
    (256, 128, 896),  # two M tiles
)
"""Shapes that show most of what can go wrong, for checks that need many cases a shape."""
SQUARE: tuple[Shape, ...] = tuple(
    (m, 128 * b, 128 * b) for m, b in zip((5, 3, 33, 7, 20, 4), (1, 2, 3, 4, 5, 8), strict=True)
)
"""As many N blocks as K blocks: transposed scales have the same shape."""


def grid() -> Iterator[Shape]:
    """Shapes in which every pair of an M, an N and a K of the lists above meets at least once."""
    for i, m in enumerate(M_SIZES):
        for j, k in enumerate(K_SIZES):
            yield m, N_SIZES[(i + j) % len(N_SIZES)], k


def m_sweep() -> Iterator[Shape]:
    """Every M from 0 to 130, and the neighbours of tile, grid and 16-bit limits."""
    ks = (400, 640, 272)
    for m in (*range(131), 255, 256, 257, 511, 513):
        yield m, 144, ks[m % 3]
    for m in (4095, 4096, 4097, 65535, 65536, 65537):
        yield m, 32, 144
    # More than 2^24 bytes of A, more than 2^22 results: limits that are smaller than 32-bit ones.
    yield 65537, 16, 272
    yield 65537, 80, 16


def n_sweep() -> Iterator[Shape]:
    """Every multiple of 16 to 272, the neighbours of 576 and 7168, more than 64 and more than 256 N blocks."""
    for i, n in enumerate((*range(16, 273, 16), 560, 576, 592, 2112, 7152, 7168, 7184, 8208, 8320)):
        yield (1, 5, 67)[i % 3], n, (384, 272, 640)[i % 3]
    yield 3, 33040, 128


def k_sweep() -> Iterator[Shape]:
    """Every multiple of 16 to 272, 1 to 20 K blocks whole and ragged, every residue mod 8, more than 128 blocks."""
    blocks = (*range(1, 21), *range(50, 58))
    for i, k in enumerate((*range(16, 273, 16), *(128 * b for b in blocks), *(128 * b - 48 for b in blocks))):
        yield (5, 2, 33)[i % 3], (144, 272, 16)[i % 3], k
    for b in (129, 130, 131, 136, 160, 257):
        yield 3, 144, 128 * b


def split_k() -> Iterator[Shape]:
    """Large K and few results, where libraries cut K into slices."""
    small: Sequence[tuple[int, int]] = ((1, 128), (16, 144), (64, 128), (64, 384), (132, 576))
    for i, k in enumerate((7168, 8192, 9216, 12288, 16384, 18432, 7184, 9344)):
        for m, n in (small[i % 5], small[(i + 2) % 5]):
            yield m, n, k


TILE_WALKS: tuple[Shape, ...] = (
    (1153, 272, 16),  # 10 M tiles of 128 and 3 N tiles: programs that walk 8 M tiles at a time
    (272, 1168, 144),
    (1281, 1168, 16),
    (2177, 400, 16),
)
"""Many tiles in both directions, in numbers that no group of 2, 4, 8 or 16 tiles divides; K small to afford them."""

UNALIGNED: tuple[Shape, ...] = (
    (5, 17, 128),
    (3, 136, 400),
    (17, 250, 272),
    (1, 8, 72),
    (4, 144, 137),
    (2, 48, 1001),
    (33, 257, 385),
    (83, 100, 640),
    (130, 1, 1),
)
"""N or K that are no multiples of 16, the least that torch asks for."""
