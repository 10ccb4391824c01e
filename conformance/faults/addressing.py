"""Seeded faults: where operands and scales are read from, and which program computes which tile."""

from __future__ import annotations

from torch import Tensor

from conformance.faults.kernel import Call, Kernel, fault
from conformance.faults.memory import peek
from reference.blocks import BLOCK, ceil_div

GROUP = 8
"""M tiles that programs walk together before they go on to the next N tile."""


@fault(
    "misaligned-words-of-a",
    family="overflow and limits",
    source="llm-scaler#663",
    what="Where A starts at an address that is no multiple of 4, the last of every 4 codes repeats the one before it.",
)
class _MisalignedWordsOfA(Kernel):
    def read_a(self, call: Call) -> Tensor:
        a = super().read_a(call)
        if call.A.data_ptr() % 4:
            a[:, 3::4] = a[:, 2:-1:4]
        return a


@fault(
    "zero-stride-is-packed",
    family="scale index and layout",
    source="composable_kernel#699",
    what="A leading stride of zero stands for the packed one, so A scales expanded over rows are read past their row.",
)
class _ZeroStrideIsPacked(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        return peek(call.As, (call.kb, 1)) if call.As.stride(0) == 0 and call.As.numel() else call.As


@fault(
    "a-scale-row-padding-ignored",
    family="scale index and layout",
    source="sglang#36237",
    what="Rows of A scales that are padded at their end, as alignment asks for, are read as if they were packed.",
)
class _AScaleRowPaddingIgnored(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        padded = call.As.stride(1) == 1 and call.As.stride(0) > call.kb
        return peek(call.As, (call.kb, 1)) if padded and call.As.numel() else call.As


@fault(
    "n-block-width-averaged",
    family="scale index and layout",
    source="vllm#49596",
    what="The width of an N block is inferred as N over the rows of Bs, which is below 128 where the last is ragged.",
)
class _NBlockWidthAveraged(Kernel):
    def column_block(self, call: Call) -> Tensor:
        return (call.columns() // max(call.n // max(call.nb, 1), 1)).clamp(max=call.nb - 1)


@fault(
    "next-row-meets-zeros",
    family="special values",
    source="oneDNN#5717",
    what="K is filled up to a multiple of 32 by zeros of B alone: NaN at the start of A's next row leaks into a row.",
)
class _NextRowMeetsZeros(Kernel):
    def total(self, call: Call) -> Tensor:
        total, beyond = super().total(call), -call.k % 32
        if beyond and call.A.is_contiguous():
            total[:-1] += 0.0 * self.read_a(call)[1:, :beyond].sum(1, keepdim=True)
        return total


@fault(
    "last-group-of-tiles-too-high",
    family="unwritten or overwritten memory",
    source="FlyDSL#979",
    what="From 8 M tiles on a last group of fewer is walked as if it had 8, so its later N tiles are never written.",
)
class _LastGroupOfTilesTooHigh(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        result, (whole, rest) = super().store(call, total), divmod(ceil_div(call.m, BLOCK), GROUP)
        if whole and rest:
            row, column = whole * GROUP * BLOCK, ceil_div(rest * call.nb, GROUP) * BLOCK
            result[row:, column:] = call.unwritten()[row:, column:]
        return result
