"""The bit model of one K block, and its promotion, compiled for the CPU: bit for bit what the eager engine computes.

Float32 does the work of the integer datapath. Onto 2^(emax + 23 - fraction_bits), whose last bit is worth
2^(emax - fraction_bits), a fused multiply-add rounded toward zero keeps exactly those bits of a product that the
hardware keeps, and the sum so far stays exact. Positive products are added onto plus that power and negative ones onto
minus it, so that both are cut toward zero; adding the two sums cancels it. NaN spreads by itself.

The inner loops name their vectors: LLVM's loop vectoriser would neither keep the sums of a group in registers nor
respect a rounding mode. LLVM cuts a vector of LANES into the registers that the CPU has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, prange, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

Floats = NDArray[np.float32]

BLOCK = 128
LANES = 64
"""Output columns in a vector: one AVX-512 register of exponents, and sums enough to hide the latency of an fma."""
ROWS = 256
"""Rows in a task: they share the decoded columns, and their running values stay in a second-level cache."""
CACHE_LINE = 64
FLOAT_BIAS, FLOAT_FRACTION = 127, 23
LOWEST = np.int8(-45)
"""As in the eager engine: below every exponent that a product or a running value can have."""
PLUS, MINUS = np.int32(0), np.int32(-1 << 31)
"""Sign bits."""
ZERO, ONE = np.float32(0), np.float32(1)
TOWARD_ZERO, TO_NEAREST = np.int32(0), np.int32(1)
"""LLVM's numbers of the rounding modes."""
I1, I8, I32 = ir.IntType(1), ir.IntType(8), ir.IntType(32)


class Lanes(types.Type):
    """LANES numbers of one numba type in vector registers."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class LanesModel(models.PrimitiveModel):
    """`Lanes` as an LLVM vector."""

    def __init__(self, manager: Any, lanes: Lanes) -> None:
        vector = _vector(manager.lookup(lanes.dtype).get_value_type())
        super().__init__(manager, lanes, vector)  # type: ignore[no-untyped-call]


def _vector(element: Any) -> Any:
    return ir.VectorType(element, LANES)


def _splat(builder: Any, scalar: Any) -> Any:
    undefined = ir.Constant(_vector(scalar.type), ir.Undefined)
    first = builder.insert_element(undefined, scalar, I32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(_vector(I32), [0] * LANES))


def _call(builder: Any, name: str, result: Any, *args: Any) -> Any:
    signature = ir.FunctionType(result, [arg.type for arg in args])
    function = cgutils.get_or_insert_function(builder.module, signature, name)  # type: ignore[no-untyped-call]
    return builder.call(function, args)


def operation(result: Callable[..., Any] = lambda first, *_: first) -> Callable[[Callable[..., Any]], Any]:
    """Make an emitter of LLVM code a function for compiled code; ``result`` maps its argument types to its own.

    The emitter receives a vector in memory (a 1-d array) as the address of its first element.
    """

    def decorate(emit: Callable[..., Any]) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            args = (
                context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value
                for kind, value in zip(signature.args, values, strict=True)
            )
            emitted = emit(builder, *args)
            return context.get_dummy_value() if signature.return_type == types.void else emitted

        # numba reads names and number of the arguments off the wrapped emitter.
        @functools.wraps(emit)
        def resolve(_typing: Any, *args: Any) -> Any:
            return result(*args)(*args), codegen

        return intrinsic(resolve)

    return decorate


@operation(lambda scalar: Lanes(scalar))
def filled(builder: Any, scalar: Any) -> Any:
    """All lanes ``scalar``."""
    return _splat(builder, scalar)


@operation(lambda array, _: Lanes(array.dtype))
def load(builder: Any, array: Any, first: Any) -> Any:
    """The elements of ``array`` from ``first`` on."""
    lanes = _vector(array.type.pointee)
    return builder.load(builder.bitcast(builder.gep(array, [first]), lanes.as_pointer()), align=1)


@operation(lambda *_: types.void)
def store(builder: Any, array: Any, first: Any, lanes: Any) -> Any:
    """Write ``lanes`` to ``array`` from ``first`` on."""
    return builder.store(lanes, builder.bitcast(builder.gep(array, [first]), lanes.type.as_pointer()), align=1)


@operation(lambda array, *_: Lanes(array.dtype))
def gathered(builder: Any, array: Any, first: Any, offsets: Any) -> Any:
    """The 32-bit elements ``first + offsets`` of ``array``."""
    result = _vector(array.type.pointee)
    addresses = builder.gep(builder.gep(array, [first]), [I32(0)])
    # llvmlite knows no vectors of addresses, LLVM does.
    addresses.indices, addresses.type = [offsets], _vector(addresses.type)
    name = f"llvm.masked.gather.v{LANES}{'i' if result.element == I32 else 'f'}32.v{LANES}p0"
    every = ir.Constant(_vector(I1), [1] * LANES)
    return _call(builder, name, result, addresses, I32(1), every, ir.Constant(result, ir.Undefined))


@operation()
def byte_of(builder: Any, words: Any, shift: Any) -> Any:
    """The bytes of ``words`` that start at bit ``shift``."""
    return builder.and_(builder.lshr(words, _splat(builder, shift)), _splat(builder, I32(0xFF)))


@operation(lambda _: Lanes(types.int8))
def narrowed(builder: Any, integers: Any) -> Any:
    """``integers`` as int8."""
    return builder.trunc(integers, _vector(I8))


@operation()
def with_sign(builder: Any, x: Any, sign: Any) -> Any:
    """``x`` where its sign bit is ``sign``, zero elsewhere."""
    own = builder.and_(builder.bitcast(x, _vector(I32)), _splat(builder, I32(int(MINUS))))
    return builder.select(builder.icmp_signed("==", own, _splat(builder, sign)), x, ir.Constant(x.type, [0.0] * LANES))


@operation()
def raised(builder: Any, largest: Any, x: Any, y: Any) -> Any:
    """``max(largest, x + y)`` of int8, ``x`` the same in all lanes."""
    return _call(builder, f"llvm.smax.v{LANES}i8", y.type, largest, builder.add(_splat(builder, x), y))


@operation()
def power(builder: Any, running: Any, largest: Any, headroom: Any, sign: Any) -> Any:
    """2^(emax + headroom) with ``sign``; emax is ``largest`` or the exponent of ``running``."""
    fraction, bias = _splat(builder, I32(FLOAT_FRACTION)), _splat(builder, I32(FLOAT_BIAS))
    own = builder.and_(builder.lshr(builder.bitcast(running, _vector(I32)), fraction), _splat(builder, I32(0xFF)))
    products = builder.add(builder.sext(largest, _vector(I32)), bias)
    top = builder.add(_call(builder, f"llvm.smax.v{LANES}i32", own.type, own, products), _splat(builder, headroom))
    return builder.bitcast(builder.or_(builder.shl(top, fraction), _splat(builder, sign)), running.type)


@operation()
def added(builder: Any, total: Any, x: Any, y: Any) -> Any:
    """``total + x * y`` rounded once, toward zero; ``x`` is the same in all lanes. Needs that mode to be set."""
    # The constrained form is the one that LLVM neither moves across a change of the mode nor evaluates in another.
    mode, traps = (ir.MetaDataString(builder.module, s) for s in ("round.towardzero", "fpexcept.ignore"))
    name = f"llvm.experimental.constrained.fma.v{LANES}f32"
    return _call(builder, name, total.type, _splat(builder, x), y, total, mode, traps)


@operation()
def closed(builder: Any, positive: Any, negative: Any, mask: Any) -> Any:
    """``positive + negative``, which is exact, with the bits of ``mask`` kept."""
    total = builder.bitcast(builder.fadd(positive, negative), _vector(I32))
    return builder.bitcast(builder.and_(total, _splat(builder, mask)), positive.type)


@operation(lambda _: types.void)
def set_rounding(builder: Any, mode: Any) -> Any:
    """Set the rounding mode of the calling thread."""
    return _call(builder, "llvm.set.rounding", ir.VoidType(), mode)


@operation()
def fma(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """``x * y + z`` rounded once: the CPU's instruction, or the C library's function where it has none."""
    return builder.fma(x, y, z)


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
