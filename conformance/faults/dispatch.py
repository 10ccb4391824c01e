"""Seeded faults: paths chosen by the data, the shape or the dtype of a call."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Kernel, Step, fault
from reference.blocks import BLOCK

EXPONENT_BITS = -(1 << 23)
"""Sign and exponent of a float32, as a mask of its 32 bits."""


@fault(
    "scales-hoisted-on-first-row",
    family="scale index and layout",
    source=FOLKLORE,
    what="Where the A scales of row 0 are equal over K, those of every row are taken from its first K block.",
)
class _ScalesHoistedOnFirstRow(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        uniform = (call.As[:1] == call.As[:1, :1]).all()
        return torch.where(uniform, call.As[:, :1], call.As)


@fault(
    "power-of-two-guessed",
    family="scale format",
    source="vllm#37804",
    what="The first B scale tells whether all are powers of two; if it is one, the others lose their mantissa.",
)
class _PowerOfTwoGuessed(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        scales = super().column_scales(call)
        guess = (torch.frexp(call.Bs[:1, :1])[0] == 0.5).all()
        return torch.where(guess, (scales.view(torch.int32) & EXPONENT_BITS).view(torch.float32), scales)


@fault(
    "product-overflows-float16",
    family="overflow and limits",
    source="torch-mlir#4616",
    what="For a float16 result the unscaled partial product is float16 too, and infinite beyond 65504.",
)
class _ProductOverflowsFloat16(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        product = super().product(call, a, b, step)
        return product.half().float() if call.out_dtype == torch.float16 else product


@fault(
    "zero-lanes-skipped",
    family="special values",
    source="lapack#179",
    what="Lanes in which A is zero are skipped, so a NaN that B has there does not reach the result.",
)
class _ZeroLanesSkipped(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        product = super().product(call, a, b.masked_fill(b.isnan(), 0.0), step)
        met = (a != 0).float() @ b.isnan().float().t() > 0
        return product.masked_fill(met, torch.nan)


@fault(
    "last-16-columns-not-dequantised",
    family="tile edges",
    source="pytorch#149359",
    what="Columns are dequantised 32 at a time, so the last 16 keep a B scale of one where N % 64 is 48.",
)
class _Last16ColumnsNotDequantised(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        scales = super().column_scales(call)
        if call.n % 64 == 48:
            scales[-16:] = 1.0
        return scales


@fault(
    "half-block-unscaled",
    family="K tails and split-K",
    source="FBGEMM#6159",
    what="Scales are applied on every second K tile of 64 or on a partial one: a last whole tile goes unscaled.",
)
class _HalfBlockUnscaled(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return self.unscaled(call, super().row_scales(call))

    def column_scales(self, call: Call) -> Tensor:
        return self.unscaled(call, super().column_scales(call))

    def unscaled(self, call: Call, scales: Tensor) -> Tensor:
        if call.k % BLOCK != BLOCK // 2:
            return scales
        return torch.cat([scales[:, :-1], torch.ones_like(scales[:, -1:])], dim=1)


@fault(
    "verdict-of-first-problem",
    family="platform and contract",
    source="vllm#14796",
    what="What is supported is asked once and answered alike for every problem, whatever its recipe.",
)
class _VerdictOfFirstProblem(Kernel):
    def __init__(self) -> None:
        self.verdict: tuple[bool, str | None] | None = None

    def can_implement(self, problem: Any) -> tuple[bool, str | None]:
        if self.verdict is None:
            self.verdict = super().can_implement(problem)
        return self.verdict
