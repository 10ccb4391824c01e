"""Wrong linears by name, and which of them gives what came."""

from __future__ import annotations

import torch
from torch import Tensor

from cases import LinearCase
from cases.linears.fill import Given
from conformance.linears.steps import LinearSteps
from conformance.quantising.catalogue import FAULTS as QUANTISERS
from conformance.subjects.catalogue import Entry, Named, entered
from reference.blocks import BLOCK

FAULTS: dict[str, Entry[LinearSteps]] = {}
OF_QUANTISERS = (
    *("amax-of-tensor", "amax-of-row", "signed-amax", "half-groups", "next-group", "next-row", "no-eps"),
    *("scale-inverted", "scales-transposed", "half-away", "truncated-codes", "nan-swallowed"),
)
"""Faults of quantisers that show from end to end; one that scales to half of the range, for one, shows in its codes."""


def name_fault(case: LinearCase, given: Given, x: Tensor, out: Tensor) -> Named | None:
    """The fault of the catalogue that gives every bit of ``out`` [M, N] for x as it was handed over, or None."""
    weight, scales = given.operands.B, given.operands.Bs
    for entry in FAULTS.values():
        found = entry.build().linear(x, weight, scales, given.bias, case.problem.out_dtype)
        if found.dtype == out.dtype and _same(found.reshape(out.shape), out):
            return Named(entry.name, f"every element is what {entry.name} gives: {entry.what}")
    return None


def _same(one: Tensor, other: Tensor) -> bool:
    return bool(((one == other) | (one.isnan() & other.isnan())).all())


for _name in OF_QUANTISERS:
    _entry = QUANTISERS[_name]
    FAULTS[_name] = Entry(_name, _entry.what, type(_name, (LinearSteps,), {"quantiser": _entry.build}))


@entered(FAULTS, "bias-twice", "The bias is added in the epilogue and once more behind it.")
class _BiasTwice(LinearSteps):
    def finished(self, product: Tensor, bias: Tensor | None, out_dtype: torch.dtype) -> Tensor:
        out = super().finished(product, bias, out_dtype)
        return out if bias is None else out + bias


@entered(FAULTS, "bias-left-out", "The bias is never added.")
class _BiasLeftOut(LinearSteps):
    def finished(self, product: Tensor, bias: Tensor | None, out_dtype: torch.dtype) -> Tensor:
        return super().finished(product, None, out_dtype)


@entered(FAULTS, "bias-scaled", "The bias is added before the scales of the first K block are applied.")
class _BiasScaled(LinearSteps):
    def linear(
        self, x: Tensor, weight: Tensor, weight_scale: Tensor, bias: Tensor | None, out_dtype: torch.dtype
    ) -> Tensor:
        flat = self.flattened(x)
        codes, scales = self.quantised(flat, weight.dtype)
        product = self.product(codes, weight, scales, weight_scale)
        if bias is not None:
            of_columns = weight_scale[:, 0].repeat_interleave(BLOCK)[: weight.shape[0]]
            product = product + scales[:, :1] * of_columns * bias.float()
        return self.unflattened(self.cast(product, out_dtype), (*x.shape[:-1], weight.shape[0]))


@entered(FAULTS, "bias-of-next-column", "The bias of the column before.")
class _BiasOfNextColumn(LinearSteps):
    def finished(self, product: Tensor, bias: Tensor | None, out_dtype: torch.dtype) -> Tensor:
        return super().finished(product, None if bias is None else bias.roll(1), out_dtype)


@entered(FAULTS, "bias-of-first-tile", "The bias of the first 128 columns for all tiles of them.")
class _BiasOfFirstTile(LinearSteps):
    def finished(self, product: Tensor, bias: Tensor | None, out_dtype: torch.dtype) -> Tensor:
        columns = torch.arange(product.shape[1], device=product.device) % BLOCK
        return super().finished(product, None if bias is None else bias[columns], out_dtype)


@entered(FAULTS, "bias-in-fp8", "The bias is quantised with the weight.")
class _BiasInFp8(LinearSteps):
    def finished(self, product: Tensor, bias: Tensor | None, out_dtype: torch.dtype) -> Tensor:
        narrow = None if bias is None else bias.float().clamp(-448, 448).to(torch.float8_e4m3fn).to(bias.dtype)
        return super().finished(product, narrow, out_dtype)


@entered(FAULTS, "bias-in-bf16", "The bias is added in bfloat16, whatever the dtype of the result.")
class _BiasInBf16(LinearSteps):
    def finished(self, product: Tensor, bias: Tensor | None, out_dtype: torch.dtype) -> Tensor:
        if bias is None:
            return super().finished(product, None, out_dtype)
        return (product.bfloat16() + bias.bfloat16()).to(out_dtype)


@entered(FAULTS, "cast-truncated", "The result is cut to its dtype and not rounded.")
class _CastTruncated(LinearSteps):
    def cast(self, x: Tensor, out_dtype: torch.dtype) -> Tensor:
        near = x.to(out_dtype)
        whole = torch.int32 if out_dtype == torch.float32 else torch.int16
        above = (near.float().abs() > x.abs()) & near.isfinite()
        return torch.where(above, near.view(whole) - 1, near.view(whole)).view(out_dtype)


@entered(FAULTS, "result-in-bf16", "The result goes through bfloat16, whatever its dtype.")
class _ResultInBf16(LinearSteps):
    def cast(self, x: Tensor, out_dtype: torch.dtype) -> Tensor:
        return x.bfloat16().to(out_dtype)


@entered(FAULTS, "result-in-fp16", "The result goes through float16, whatever its dtype.")
class _ResultInFp16(LinearSteps):
    def cast(self, x: Tensor, out_dtype: torch.dtype) -> Tensor:
        return x.half().to(out_dtype)


@entered(FAULTS, "batch-first", "Three dimensions are flattened with the second one first.")
class _BatchFirst(LinearSteps):
    def flattened(self, x: Tensor) -> Tensor:
        return super().flattened(x.transpose(0, 1) if x.ndim == 3 else x)


@entered(FAULTS, "strides-ignored", "x is read as if its rows lay next to one another.")
class _StridesIgnored(LinearSteps):
    def flattened(self, x: Tensor) -> Tensor:
        flat = super().flattened(x)
        return torch.as_strided(x, flat.shape, (flat.shape[1], 1), x.storage_offset())


@entered(FAULTS, "scales-of-x-left-out", "The scales of x are taken for 1.")
class _ScalesOfXLeftOut(LinearSteps):
    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        return super().product(A, B, torch.ones_like(As), Bs)


@entered(FAULTS, "scales-of-rows-of-64", "The scale of a row of x is that of the row 64 before, from there on.")
class _ScalesOfRowsOf64(LinearSteps):
    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        return super().product(A, B, As[torch.arange(A.shape[0], device=A.device) % 64], Bs)


@entered(FAULTS, "rows-shifted", "Rows behind the last whole four are those of the padding: the ones before them.")
class _RowsShifted(LinearSteps):
    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        out = super().product(A, B, As, Bs)
        rows = torch.arange(out.shape[0], device=out.device)
        whole = out.shape[0] // 4 * 4
        return out[torch.where((rows >= whole) & (rows > 0), rows - 1, rows)]


@entered(FAULTS, "last-k-block-lost", "The last K block is left out.")
class _LastKBlockLost(LinearSteps):
    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        k = (As.shape[1] - 1) * BLOCK
        return super().product(A[:, :k], B[:, :k], As[:, :-1], Bs[:, :-1])
