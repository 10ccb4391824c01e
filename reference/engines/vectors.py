"""Vectors as a numba type, and the operations of the CPU engine on them, written as LLVM instructions.

LLVM's loop vectoriser would neither keep the sums of a group in registers nor respect a rounding mode, so the inner
loops name their vectors; LLVM cuts a vector of LANES into the registers that the CPU has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

LANES = 64
"""Output columns in a vector: one AVX-512 register of exponents, and sums enough to hide the latency of an fma."""
FLOAT_BIAS, FLOAT_FRACTION = 127, 23
MINUS = np.int32(-1 << 31)
"""The sign bit of a float32."""
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
