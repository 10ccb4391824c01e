"""How each rule of `cases.rules` spoils a raw call that is right for its API: in exactly one thing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from conformance.backends.padding import by_column, pad_columns
from conformance.backends.raw import RawCall
from reference.blocks import BLOCK

Spoil = Callable[[RawCall], RawCall]
NAN_CODE = 0x7F
"""NaN in float8_e4m3fn, between rows that stand apart."""
APART = 16
"""Bytes between such rows: each still starts on a boundary of 16."""


def _in_wider(x: Tensor, start: int = 0) -> Tensor:
    """The rows of ``x``, ``start`` bytes behind the first of longer ones."""
    rows, columns = x.shape
    octets = torch.full((rows, columns + APART), NAN_CODE, dtype=torch.uint8, device=x.device)
    octets[:, start : start + columns] = x.view(torch.uint8)
    return octets.view(x.dtype)[:, start : start + columns]


def _shorter_k(call: RawCall, lanes: int) -> RawCall:
    """The same K blocks, the last one ``lanes`` shorter."""
    return replace(call, A=call.A[:, :-lanes].contiguous(), B=by_column(call.B[:-lanes]))


def _no_k(call: RawCall) -> RawCall:
    a, b = call.A[:, :0].contiguous(), by_column(call.B[:0])
    return replace(call, A=a, B=b, scale_a=by_column(call.scale_a[:, :0]), scale_b=by_column(call.scale_b[:0]))


def _rows_apart(call: RawCall) -> RawCall:
    lines = torch.nn.functional.pad(call.scale_a.t(), (0, 4), value=torch.nan)
    return replace(call, scale_a=lines.t()[:-4])


def _blocks_padded(call: RawCall) -> RawCall:
    k_blocks = call.scale_a.shape[1]
    return replace(call, scale_b=pad_columns(call.scale_b.t(), multiple=4)[:, :k_blocks].t())


def _blocks_unpadded(call: RawCall) -> RawCall:
    return replace(call, scale_b=by_column(call.scale_b[: call.scale_a.shape[1]]))


def _padding(value: float) -> Spoil:
    def spoil(call: RawCall) -> RawCall:
        scale_b = call.scale_b.clone()
        scale_b[call.scale_a.shape[1] :] = value
        return replace(call, scale_b=scale_b)

    return spoil


def _scales(dtype: torch.dtype) -> Spoil:
    return lambda call: replace(call, scale_a=call.scale_a.to(dtype), scale_b=call.scale_b.to(dtype))


def _blocks_twice(call: RawCall) -> RawCall:
    by_block = call.scale_a[::BLOCK].contiguous()
    if call.recipes is None:
        return replace(call, scale_a=by_block)
    return replace(call, scale_a=pad_columns(by_block, multiple=4).t(), recipes=(call.recipes[1], call.recipes[1]))


def _by_row(call: RawCall) -> RawCall:
    from torch.nn.functional import ScalingType

    return replace(call, recipes=(ScalingType.RowWise, ScalingType.RowWise))


def _swizzled(call: RawCall) -> RawCall:
    from torch.nn.functional import SwizzleType

    return _with(swizzle_a=SwizzleType.SWIZZLE_32_4_4, swizzle_b=SwizzleType.SWIZZLE_32_4_4)(call)


def _with(**more: Any) -> Spoil:
    return lambda call: replace(call, more={**call.more, **more})


def _out(dtype: torch.dtype | None = None) -> Spoil:
    def spoil(call: RawCall) -> RawCall:
        shape, wanted = (call.A.shape[0], call.B.shape[1]), dtype or call.out_dtype
        return _with(out=torch.full(shape, torch.nan, dtype=wanted, device=call.A.device))(call)

    return spoil


OTHER = {torch.bfloat16: torch.float16, torch.float16: torch.bfloat16}


def _bias(dtype: Callable[[torch.dtype], torch.dtype], *, missing: int = 0) -> Spoil:
    """A bias of small integers, so that the exact result stays exact, in a dtype that depends on that of the result."""

    def spoil(call: RawCall) -> RawCall:
        assert call.out_dtype is not None
        numbers = torch.arange(call.B.shape[1] - missing, device=call.A.device) % 7 - 3
        return _with(bias=numbers.to(dtype(call.out_dtype)))(call)

    return spoil


SPOILS: dict[str, Spoil] = {
    "m-unpadded": lambda call: replace(call, A=call.A[:-1], scale_a=by_column(call.scale_a[:-1])),
    "n-unaligned": lambda call: replace(call, B=call.B[:, :-8]),
    "k-unaligned": lambda call: _shorter_k(call, 8),
    "k-unequal": lambda call: replace(call, B=by_column(call.B[:-16])),
    "k-ragged": lambda call: call,
    "m-zero": lambda call: call,
    "n-zero": lambda call: replace(call, B=call.B[:, :0], scale_b=call.scale_b[:, :0]),
    "k-zero": _no_k,
    "as-row-major": lambda call: replace(call, scale_a=call.scale_a.contiguous()),
    "as-rows-padded": _rows_apart,
    "bs-untransposed": lambda call: replace(call, scale_b=call.scale_b.t()),
    "bs-padded": _blocks_padded,
    "bs-unpadded": _blocks_unpadded,
    "padding-nan": _padding(torch.nan),
    "padding-inf": _padding(torch.inf),
    "scales-fp16": _scales(torch.float16),
    "scales-bf16": _scales(torch.bfloat16),
    "scales-fp64": _scales(torch.float64),
    "scales-e8m0": _scales(torch.float8_e8m0fnu),
    "scale-on-cpu": lambda call: replace(call, scale_a=call.scale_a.cpu()),
    "recipe-blocks-twice": _blocks_twice,
    "recipe-rowwise": _by_row,
    "swizzled": _swizzled,
    "contraction-unequal": _with(contraction_dim=(0, 1)),
    "contraction-ignored": _with(contraction_dim=(0, 1)),
    "a-e5m2": lambda call: call,
    "both-e5m2": lambda call: call,
    "out-fp8": lambda call: replace(call, out_dtype=torch.float8_e4m3fn),
    "out-none": lambda call: replace(call, out_dtype=None),
    "out-fp64": lambda call: replace(call, out_dtype=torch.float64),
    "out-given": _out(),
    "out-of-other-dtype": _out(torch.float32),
    "bias-right": _bias(lambda out: out),
    "bias-fp32": _bias(lambda _: torch.float32),
    "bias-of-other-dtype": _bias(lambda out: OTHER[out]),
    "bias-to-fp32": _bias(lambda _: torch.bfloat16),
    "bias-short": _bias(lambda out: out, missing=1),
    "fast-accum": _with(use_fast_accum=True),
    "a-rows-padded": lambda call: replace(call, A=_in_wider(call.A)),
    "b-rows-padded": lambda call: replace(call, B=_in_wider(call.B.t()).t()),
    "a-column-major": lambda call: replace(call, A=by_column(call.A)),
    "b-row-major": lambda call: replace(call, B=call.B.contiguous()),
    "a-offset-8": lambda call: replace(call, A=_in_wider(call.A, 8)),
}
"""By the name of the rule. Where nothing is done, the problem itself is what the rule is about."""
