# mypy: disable-error-code="import-not-found, untyped-decorator, no-untyped-call"
"""The bit model on a GPU, in Triton: the very bits of `reference.dot` and `reference.promote`, many times faster.

Two exact ideas make the products of K blocks cheap:

* Cutting and adding are one instruction. Added by ``fma.rz`` to a float32 in [2^(q+23), 2^(q+24)), a product p > 0 is
  cut toward zero to a multiple of 2^q, and the running sum stays exact. Positive products go onto +2^(q+23), negative
  ones onto -2^(q+23), and the two origins cancel when the accumulators are added.
* The largest exponent is a sum. With 2^(w·exponent) in place of every operand, fewer than 2^w products sum to less than
  the next power of 2^w, so the exponent of the sum divided by w is the maximum. Any summation that is right to within
  a small factor will do, whatever it rounds or cuts, and so the matrix unit can do this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from reference.blocks import BLOCK, ceil_div
from reference.dot import FLOAT_BIAS, power_of_two
from reference.formats import NO_EXPONENT, decode, exponents, format_of
from reference.tiles import Tile

TILE = 64
"""Rows and columns of the result that one program computes.

Fewer than a program's threads: Triton then lets every thread load its own operands, and does not pass them through
shared memory, which would put two barriers into the innermost loop.
"""
RESOURCES = {"num_warps": 4, "maxnreg": 128}
"""Four programs fit a multiprocessor; without the limit it is three, and 15 % slower."""
PRODUCTS_AT_ONCE = 1 << 28
"""Block products that are held at a time: 1 GiB."""
PROMOTED, PLANS_AT_ONCE = 64, 16
"""Elements that one program promotes, again fewer than its threads, and plans that it follows at most."""
GROUPS, FRACTION_BITS = (16, 32), range(6, 17)
"""What float32 accumulators have room for: 32 products below 4·2^emax and a running value fill 7 bits."""

K_BLOCK = tl.constexpr(BLOCK)
BIAS, FRACTION, POWER = tl.constexpr(127), tl.constexpr(23), tl.constexpr(0x7F800000)


@triton.jit
def _add_product(x: tl.tensor, y: tl.tensor, positive: tl.tensor, negative: tl.tensor) -> tl.tuple:
    """Add ``x * y``, cut toward zero at the last bit of the accumulators, to the accumulator of its sign.

    Inline, since Triton has no rounding toward zero; three instructions, where taking maximum and minimum with zero
    needs four.
    """
    return tl.inline_asm_elementwise(
        """
        {
        .reg .pred below;
        .reg .b32 sign;
        xor.b32 sign, $2, $3;
        and.b32 sign, sign, 0x80000000;
        setp.ne.b32 below, sign, 0;
        @!below fma.rz.f32 $0, $2, $3, $0;
        @below fma.rz.f32 $1, $2, $3, $1;
        }
        """,
        "=f,=f,f,f,0,1",
        [x, y, positive, negative],
        dtype=(tl.float32, tl.float32),
        is_pure=True,
        pack=1,
    )


@triton.jit
def _lane(pair: tl.tensor, LANE: tl.constexpr) -> tl.tensor:
    """One float32 of two that were loaded as one 64-bit word."""
    return (pair >> (32 * LANE)).to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def _largest_power(a: tl.tensor, b: tl.tensor, GROUP: tl.constexpr, SPREAD: tl.constexpr) -> tl.tensor:
    """Bits of 2^emax of the products, from pointers to weights; of no products, so little that nothing is cut."""
    TERMS: tl.constexpr = 32 if SPREAD == 8 else 8
    SHIFT: tl.constexpr = 3 if SPREAD == 8 else 2
    part = (tl.arange(0, GROUP) // TERMS)[:, None]
    total = tl.dot(tl.load(a), tl.load(b, mask=part == 0, other=0.0))
    for i in tl.static_range(1, (GROUP + TERMS - 1) // TERMS):
        total = tl.maximum(total, tl.dot(tl.load(a), tl.load(b, mask=part == i, other=0.0)))
    UNBIASED: tl.constexpr = BIAS - BIAS // SPREAD
    return ((total.to(tl.int32, bitcast=True) >> SHIFT) & POWER) + (UNBIASED << FRACTION)


@triton.jit(do_not_specialize=["m", "n"])
def _products_kernel(
    a: tl.tensor,
    b: tl.tensor,
    weights_a: tl.tensor,
    weights_b: tl.tensor,
    out: tl.tensor,
    m: tl.tensor,
    n: tl.tensor,
    k: tl.tensor,
    stride_a: tl.tensor,
    stride_b: tl.tensor,
    GROUP: tl.constexpr,
    FRACTION_BITS: tl.constexpr,
    SPREAD: tl.constexpr,
    TILE: tl.constexpr,
) -> None:
    """One K block of one tile: a and b hold pairs of lanes [k / 2, rows], the weights [rows, k]."""
    tiles_n = tl.cdiv(n, TILE)
    rows = tl.program_id(0) // tiles_n * TILE + tl.arange(0, TILE)
    cols = tl.program_id(0) % tiles_n * TILE + tl.arange(0, TILE)
    block = tl.program_id(1)
    DROPPED: tl.constexpr = FRACTION - FRACTION_BITS
    one = tl.full([1, 1], 1.0, tl.float32)
    running = tl.zeros([TILE, TILE], tl.float32)
    for start in range(0, K_BLOCK, GROUP):
        lanes = block * K_BLOCK + start + tl.arange(0, GROUP)
        wa = weights_a + rows[:, None].to(tl.int64) * k + lanes[None, :]
        wb = weights_b + cols[None, :].to(tl.int64) * k + lanes[:, None]
        largest = tl.maximum(_largest_power(wa, wb, GROUP, SPREAD), running.to(tl.int32, bitcast=True) & POWER)
        # Also for an infinite or NaN running value, whose origin is no power: it stays what it is on any finite one.
        origin = (largest + (DROPPED << FRACTION)).to(tl.float32, bitcast=True)
        positive, negative = _add_product(running, one, origin, -origin)
        pair = block.to(tl.int64) * (K_BLOCK // 2) + start // 2
        next_a, next_b = a + pair * stride_a + rows, b + pair * stride_b + cols
        for _ in range(GROUP // 2):
            x, y = tl.load(next_a), tl.load(next_b)
            for lane in tl.static_range(2):
                u, v = _lane(x, lane)[:, None], _lane(y, lane)[None, :]
                positive, negative = _add_product(u, v, positive, negative)
            next_a += stride_a
            next_b += stride_b
        total = (positive + negative).to(tl.int32, bitcast=True)
        running = (total >> DROPPED << DROPPED).to(tl.float32, bitcast=True)
    target = out + (block.to(tl.int64) * m + rows[:, None]) * n + cols[None, :]
    tl.store(target, running, mask=(rows[:, None] < m) & (cols[None, :] < n))


@triton.jit(do_not_specialize=["m", "n", "blocks", "plans"])
def _promote_kernel(
    products: tl.tensor,
    sa: tl.tensor,
    sb: tl.tensor,
    splits: tl.tensor,
    out: tl.tensor,
    m: tl.tensor,
    n: tl.tensor,
    blocks: tl.tensor,
    plans: tl.tensor,
    SCALES_FIRST: tl.constexpr,
    PLANS: tl.constexpr,
    SIZE: tl.constexpr,
) -> None:
    """Some elements of the result under all plans at once, so that products are read once."""
    index = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    size = m.to(tl.int64) * n
    inside = tl.minimum(index, size - 1)  # beyond the end the last element again: no load needs a mask
    product, row, col = products + inside, sa + inside // n, sb + inside % n
    plan = tl.arange(0, PLANS)
    split = tl.load(splits + plan, plan < plans, 1)
    left = split
    chunk = tl.zeros([PLANS, SIZE], tl.float32)
    # Nothing is added to the first chunk: +0 would lose the sign of its -0, and -0 changes nothing.
    total = tl.full([PLANS, SIZE], -0x80000000, tl.int32).to(tl.float32, bitcast=True)
    for block in range(blocks):
        p, x, y = tl.load(product), tl.load(row), tl.load(col)
        if SCALES_FIRST:
            chunk = tl.fma(p[None, :], (x * y)[None, :], chunk)
        else:
            chunk = tl.fma((p * x)[None, :], y[None, :], chunk)
        left -= 1
        ends = (left == 0) | (block == blocks - 1)
        left = tl.where(ends, split, left)
        total = tl.where(ends[:, None], total + chunk, total)
        chunk = tl.where(ends[:, None], 0.0, chunk)
        product += size
        row += m
        col += n
    target = out + plan[:, None] * size + index[None, :]
    tl.store(target, total, mask=(plan < plans)[:, None] & (index < size)[None, :])


def _codes(x: Tensor) -> Tensor:
    """The codes of FP8 ``x`` [R, K] as uint8, filled up to whole tiles and K blocks with the code of zero."""
    return torch.nn.functional.pad(x.view(torch.uint8), (0, -x.shape[1] % BLOCK, 0, -x.shape[0] % TILE)).contiguous()


def _lane_pairs(x: Tensor) -> Tensor:
    """Decoded FP8 ``x`` [R, K] as [K / 2, R] of two float32 lanes in one int64, filled up as `_codes` are."""
    codes = _codes(x)
    # Two lanes of one row side by side: one load brings both, and for two neighbouring rows at once.
    lanes = codes.view(codes.shape[0], codes.shape[1] // 2, 2).transpose(0, 1).contiguous()
    return decode(lanes.view(x.dtype)).view(torch.int64).squeeze(2)


def _weights(x: Tensor, spread: int, shift: int) -> Tensor:
    """``2**(spread * exponent + shift)`` of FP8 ``x`` [R, K] as bfloat16, 0 for zeros, filled up as `_codes` are.

    Infinities and NaN count as a finite exponent: they decide the result whatever the alignment is.
    """
    every_code = torch.arange(256, dtype=torch.uint8, device=x.device).view(x.dtype)
    exponent = exponents(every_code).int()
    weight = power_of_two(spread * exponent.clamp(-15, 15) + shift)
    table = torch.where(exponent == NO_EXPONENT, 0.0, weight).bfloat16()
    return table[_codes(x).int()]


def iter_block_products(
    A: Tensor, B: Tensor, *, group: int, fraction_bits: int, limit: int = PRODUCTS_AT_ONCE
) -> Iterator[tuple[Tile, Tensor]]:
    """The dot products of all K blocks of A [M,K] and B [N,K] on a GPU: (tile, float32 [kb, rows, N]).

    FP8 in any format on either side. A tile is whole rows, about ``limit`` products. Raises ValueError for a ``group``
    and ``fraction_bits`` that float32 accumulators have no room for.
    """
    if group not in GROUPS or fraction_bits not in FRACTION_BITS:
        raise ValueError(f"group {group} is not in {GROUPS} or fraction_bits {fraction_bits} not in {FRACTION_BITS}")
    m, n, blocks = A.shape[0], B.shape[0], ceil_div(A.shape[1], BLOCK)
    # Exponents of narrow products fit a float32 eight times spread, those of wide ones four times, so that fewer
    # products share a sum. The shift aligns the float32 bias to whole powers of the spread exponents.
    spread = 8 if all(format_of(x.dtype).exponent_bits == 4 for x in (A, B)) else 4
    a, b = _lane_pairs(A), _lane_pairs(B)
    weights_a, weights_b = _weights(A, spread, -(FLOAT_BIAS % spread)), _weights(B, spread, 0)
    height = max(1, limit // max(1, blocks * n * TILE)) * TILE
    for first in range(0, m, height):
        rows = slice(first, min(first + height, m))
        out = torch.empty(blocks, rows.stop - first, n, dtype=torch.float32, device=A.device)
        if out.numel():
            tiles = ceil_div(out.shape[1], TILE) * ceil_div(n, TILE)
            with torch.cuda.device_of(out):
                _products_kernel[(tiles, blocks)](
                    a[:, first:], b, weights_a[first:], weights_b, out, out.shape[1], n, weights_a.shape[1],
                    a.stride(0), b.stride(0), group, fraction_bits, spread, TILE, enable_fp_fusion=False, **RESOURCES,
                )  # fmt: skip
        yield Tile(rows, slice(0, n)), out


def block_products(A: Tensor, B: Tensor, *, group: int, fraction_bits: int) -> Tensor:
    """The dot products of all K blocks of A [M,K] and B [N,K] at once, float32 [kb, M, N]."""
    shape = ceil_div(A.shape[1], BLOCK), A.shape[0], B.shape[0]
    everything = max(1, shape[0]) * (A.shape[0] + TILE) * max(1, B.shape[0])
    parts = iter_block_products(A, B, group=group, fraction_bits=fraction_bits, limit=everything)
    return next((products for _, products in parts), torch.empty(shape, dtype=torch.float32, device=A.device))


def promote_each(products: Tensor, sa: Tensor, sb: Tensor, *, scales_first: bool, splits: Sequence[int]) -> Tensor:
    """Block products [kb, M, N] accumulated under every one of ``splits``, float32 [plans, M, N].

    ``sa`` [kb, M] and ``sb`` [kb, N] are float32. A split is the number of K blocks in a chunk; chunks are accumulated
    from zero by fma(P, sa·sb, ·), or fma(P·sa, sb, ·) unless ``scales_first``, and added in order.
    """
    blocks, m, n = products.shape
    out = torch.zeros(len(splits), m, n, dtype=torch.float32, device=products.device)
    products, sa, sb = products.contiguous(), sa.contiguous(), sb.contiguous()
    for i in range(0, len(splits) if blocks and m and n else 0, PLANS_AT_ONCE):
        batch = torch.tensor(splits[i : i + PLANS_AT_ONCE], dtype=torch.int32, device=products.device)
        plans = triton.next_power_of_2(len(batch))
        elements = PROMOTED if plans > 1 else 2 * PROMOTED
        with torch.cuda.device_of(out):
            _promote_kernel[(ceil_div(m * n, elements),)](
                products, sa, sb, batch, out[i:], m, n, blocks, len(batch),
                scales_first, plans, elements, num_warps=4, enable_fp_fusion=False,
            )  # fmt: skip
    return out


def promote(products: Tensor, sa: Tensor, sb: Tensor, *, scales_first: bool, split: int) -> Tensor:
    """Block products [kb, M, N] accumulated in chunks of ``split`` K blocks, float32 [M, N]; see `promote_each`."""
    return promote_each(products, sa, sb, scales_first=scales_first, splits=(split,))[0]


def emulate(
    A: Tensor,
    B: Tensor,
    sa: Tensor,
    sb: Tensor,
    *,
    group: int,
    fraction_bits: int,
    scales_first: bool,
    split: int,
) -> Tensor:
    """`block_products` and `promote` in one, float32 [M, N], without holding all the products at once."""
    out = torch.empty(A.shape[0], B.shape[0], device=A.device)
    for tile, products in iter_block_products(A, B, group=group, fraction_bits=fraction_bits):
        out[tile.rows] = promote(products, sa[:, tile.rows], sb, scales_first=scales_first, split=split)
    return out
