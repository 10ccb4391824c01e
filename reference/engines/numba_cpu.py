"""The bit model of one K block, and its promotion, compiled for the CPU: bit for bit what the eager engine computes.

Float32 does the work of the integer datapath. Onto 2^(emax + 23 - fraction_bits), whose last bit is worth
2^(emax - fraction_bits), a fused multiply-add rounded toward zero keeps exactly those bits of a product that the
hardware keeps, and the sum so far stays exact. Positive products are added onto plus that power and negative ones onto
minus it, so that both are cut toward zero; adding the two sums cancels it. NaN spreads by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from reference.engines.vectors import (
    FLOAT_FRACTION,
    LANES,
    MINUS,
    added,
    byte_of,
    closed,
    filled,
    fma,
    gathered,
    load,
    narrowed,
    power,
    raised,
    set_rounding,
    store,
    with_sign,
)

Floats = NDArray[np.float32]

BLOCK = 128
ROWS = 256
"""Rows in a task: they share the decoded columns, and their running values stay in a second-level cache."""
CACHE_LINE = 64
LOWEST = np.int8(-45)
"""As in the eager engine: below every exponent that a product or a running value can have."""
PLUS = np.int32(0)
"""The sign bit of positive numbers."""
ZERO, ONE = np.float32(0), np.float32(1)
TOWARD_ZERO, TO_NEAREST = np.int32(0), np.int32(1)
"""LLVM's numbers of the rounding modes."""


class Operand(NamedTuple):
    """One side of the product: codes [R,K], and what each of the 256 codes means."""

    codes: NDArray[np.uint8]
    values: Floats
    finite: Floats
    """``values`` with NaN for infinities, which a plane of one sign would multiply by the zeros of the other."""
    exponents: NDArray[np.int32]


def _operand(codes: NDArray[np.uint8], values: Floats, exponents: NDArray[np.int8]) -> Operand:
    finite = np.where(np.isinf(values), np.float32(np.nan), values)
    return Operand(codes, values, finite, exponents.astype(np.int32))


def _compiled(**options: bool) -> Callable[[Callable[..., Any]], Any]:
    return functools.partial(njit, nogil=True, error_model="numpy", **options)


@_compiled()
def _aligned(size: int) -> NDArray[np.int8]:
    """``size`` bytes from the start of a cache line: vectors across two lines would load at half the speed."""
    room = np.empty(size + CACHE_LINE, np.int8)
    skip = -room.ctypes.data % CACHE_LINE
    return room[skip : skip + size]


@_compiled()
def _code(a: Operand, row: int, lane: int) -> Any:
    """One code of ``a``; unsigned indices spare the inner loops numba's test for counting from the end."""
    return a.codes[np.uint64(row), np.uint64(lane)]


@_compiled()
def _decode(b: Operand, words: Any, first: int, offsets: Any, lanes: int, planes: Floats, exponents: Any) -> None:
    """Columns of B, LANES of them: for every lane the positive values, the negative ones, and the exponents."""
    for lane in range(0, lanes, 4):
        four = gathered(words, first + lane // 4, offsets)
        for i in range(4):
            codes = byte_of(four, np.int32(8 * i))
            values = gathered(b.finite, 0, codes)
            store(planes, (lane + i) * 2 * LANES, with_sign(values, PLUS))
            store(planes, (lane + i) * 2 * LANES + LANES, with_sign(values, MINUS))
            store(exponents, (lane + i) * LANES, narrowed(gathered(b.exponents, 0, codes)))


@_compiled()
def _dot_group(
    a: Operand, row: int, rows: int, start: int, lanes: int, planes: Floats, exponents: Any, running: Floats, bits: int
) -> None:
    """Fused dot products of one group, all ``rows`` against LANES columns; call it with rounding toward zero."""
    headroom, mask = np.int32(FLOAT_FRACTION - bits), np.int32(-1 << (FLOAT_FRACTION - bits))
    largest = filled(LOWEST)
    for lane in range(lanes):
        exponent = np.int8(a.exponents[_code(a, row, start + lane)])
        largest = raised(largest, exponent, load(exponents, lane * LANES))
    for i in range(rows):
        c = load(running, i * LANES)
        positive = added(power(c, largest, headroom, PLUS), ONE, with_sign(c, PLUS))
        negative = added(power(c, largest, headroom, MINUS), ONE, with_sign(c, MINUS))
        # The next row's exponents ride along: on their own they would leave the multipliers idle.
        following = row + min(i + 1, rows - 1)
        largest = filled(LOWEST)
        for lane in range(lanes):
            code = _code(a, row + i, start + lane)
            swap = np.intp(code & 128) >> 1  # LANES for a negative factor: the planes change places
            positive = added(positive, a.finite[code], load(planes, lane * 2 * LANES + swap))
            negative = added(negative, a.finite[code], load(planes, lane * 2 * LANES + LANES - swap))
            exponent = np.int8(a.exponents[_code(a, following, start + lane)])
            largest = raised(largest, exponent, load(exponents, lane * LANES))
        store(running, i * LANES, closed(positive, negative, mask))


@_compiled()
def _restore_infinities(
    a: Operand, b: Operand, row: int, rows: int, column: int, columns: int, first: int, last: int, running: Floats
) -> None:
    """Where ``running`` is NaN put the plain sum of the block: an infinity or NaN, whatever the rounding mode."""
    if not np.isnan(running).any():
        return
    values = np.zeros((last - first) * LANES, np.float32)
    for j in range(columns):
        for lane in range(first, last):
            values[(lane - first) * LANES + j] = b.values[_code(b, column + j, lane)]
    sums = np.empty(LANES, np.float32)
    for i in range(rows):
        total, touched = filled(ZERO), False
        for j in range(columns):
            touched |= np.isnan(running[i * LANES + j])
        if touched:
            for lane in range(first, last):
                total = added(total, a.values[_code(a, row + i, lane)], load(values, (lane - first) * LANES))
            store(sums, 0, total)
            for j in range(columns):
                if np.isnan(running[i * LANES + j]):
                    running[i * LANES + j] = sums[j]


@_compiled()
def _compute_task(
    a: Operand,
    b: Operand,
    words: Any,
    infinities: bool,
    group: int,
    bits: int,
    block: int,
    row: int,
    column: int,
    out: Floats,
) -> None:
    """One K block of ROWS rows and LANES columns of the result, ``out`` [M,N]."""
    (m, n), k = out.shape, a.codes.shape[1]
    rows, columns = min(ROWS, m - row), min(LANES, n - column)
    first, last = block * BLOCK, min(block * BLOCK + BLOCK, k)
    running = np.zeros(rows * LANES, np.float32)
    planes = _aligned(group * 2 * LANES * 4).view(np.float32)
    exponents = _aligned(group * LANES)
    offsets = np.empty(LANES, np.int64)
    for j in range(LANES):  # past the last column that one is decoded again, and dropped at the end
        offsets[j] = min(column + j, n - 1) * (words.size // n)
    for start in range(first, last, group):
        lanes = min(group, last - start)
        _decode(b, words, start // 4, load(offsets, 0), lanes, planes, exponents)
        set_rounding(TOWARD_ZERO)
        _dot_group(a, row, rows, start, lanes, planes, exponents, running, bits)
        set_rounding(TO_NEAREST)
    if infinities:
        _restore_infinities(a, b, row, rows, column, columns, first, last, running)
    for i in range(rows):
        for j in range(columns):
            out[row + i, column + j] = running[i * LANES + j]


@_compiled(parallel=True, cache=True)
def _block_products(a: Operand, b: Operand, words: Any, infinities: bool, group: int, bits: int, out: Floats) -> None:
    blocks, m, n = out.shape
    tiles, chunks = -(-n // LANES), -(-m // ROWS)
    for task in prange(blocks * tiles * chunks):
        block, column, row = task // (tiles * chunks), task // chunks % tiles * LANES, task % chunks * ROWS
        _compute_task(a, b, words, infinities, group, bits, block, row, column, out[block])


def block_products(
    a: NDArray[np.uint8],
    b: NDArray[np.uint8],
    *,
    a_values: Floats,
    b_values: Floats,
    a_exponents: NDArray[np.int8],
    b_exponents: NDArray[np.int8],
    group: int,
    fraction_bits: int,
) -> Floats:
    """Dot products of the K blocks of codes ``a`` [M,K] and ``b`` [N,K], float32 [kb, M, N].

    ``values`` and ``exponents`` [256] say what a code means. Raises ValueError for a ``group`` that does not divide a
    K block into whole words of four codes, and for more ``fraction_bits`` than a group's sum leaves room for.
    """
    if group % 4 or BLOCK % group:
        raise ValueError(f"group must divide {BLOCK} and be a multiple of 4, got {group}")
    # |significand| <= 15/8, so a sum is at most (225/64 * group + 2) * 2^emax, and the power must not double.
    if 225 * group + 128 > 64 << (FLOAT_FRACTION - fraction_bits):
        raise ValueError(f"{fraction_bits} fraction bits do not fit float32 in groups of {group}")
    out = np.empty((-(-a.shape[1] // BLOCK), a.shape[0], b.shape[0]), np.float32)
    if not out.size:
        return out
    words = np.ascontiguousarray(np.pad(b, ((0, 0), (0, -b.shape[1] % 4))) if b.shape[1] % 4 else b)
    infinities = bool(np.isinf(a_values).any() or np.isinf(b_values).any())
    left, right = _operand(np.ascontiguousarray(a), a_values, a_exponents), _operand(words, b_values, b_exponents)
    _block_products(left, right, words.reshape(-1).view(np.int32), infinities, group, fraction_bits, out)
    return out


@_compiled()
def _promote_row(
    products: Floats, sa: Floats, sb: Floats, scales_first: bool, split: int, i: int, chunk: Floats, out: Floats
) -> None:
    for start in range(0, products.shape[0], split):
        for b in range(start, min(start + split, products.shape[0])):
            row = sa[b, i]
            for j in range(chunk.size):
                total = ZERO if b == start else chunk[j]
                if scales_first:
                    chunk[j] = fma(products[b, i, j], row * sb[b, j], total)
                else:
                    chunk[j] = fma(products[b, i, j] * row, sb[b, j], total)
        for j in range(chunk.size):  # not 0 + chunk, which would lose the sign of a zero
            out[i, j] = chunk[j] if start == 0 else out[i, j] + chunk[j]


@_compiled(parallel=True, cache=True)
def _promote(products: Floats, sa: Floats, sb: Floats, scales_first: bool, split: int, out: Floats) -> None:
    for i in prange(out.shape[0]):
        chunk = np.empty(out.shape[1], np.float32)
        _promote_row(products, sa, sb, scales_first, split, i, chunk, out)


def promote(products: Floats, sa: Floats, sb: Floats, *, scales_first: bool, split: int) -> Floats:
    """Accumulate block products [kb, M, N] with scales ``sa`` [kb, M] and ``sb`` [kb, N] into float32 [M, N].

    ``scales_first`` multiplies the two scales with each other, and not the first with the product; ``split`` is the
    number of K blocks in a chunk. Raises ValueError for a ``split`` below 1.
    """
    if split < 1:
        raise ValueError(f"split is a number of K blocks and must be at least 1, got {split}")
    out = np.zeros(products.shape[1:], np.float32)
    if products.size:
        _promote(*map(np.ascontiguousarray, (products, sa, sb)), scales_first, split, out)
    return out
