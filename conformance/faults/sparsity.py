"""Seeded faults: blocks that look empty are skipped, and not all of them should be, or not that way."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from conformance.faults.fixed_point import filled
from conformance.faults.kernel import FOLKLORE, Call, Kernel, Step, fault
from reference.blocks import BLOCK


@fault(
    "tiny-blocks-skipped",
    family="special values",
    source="flashinfer#4685",
    what="A whole K block of B without any normal code is taken for an empty one and skipped.",
)
class _TinyBlocksSkipped(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        product = super().product(call, a, b, step)
        return product * 0 if bool((b.abs() < 2.0**-6).all()) else product


@fault(
    "second-empty-block-shifts-scales",
    family="scale index and layout",
    source=FOLKLORE,
    what="Empty K blocks of a row of A are skipped; from the second one on the scales of the others are one too early.",
)
class _SecondEmptyBlockShiftsScales(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        empty = ~filled(super().read_a(call), call.kb)
        late = ((empty.long().cumsum(1) >= 2) & ((~empty).sum(1, keepdim=True) >= 2)).long()
        blocks = torch.arange(call.kb, device=call.As.device) - late
        return call.As.gather(1, blocks.clamp(min=0)) if call.As.numel() else call.As


@fault(
    "trailing-zeros-taken-for-padding",
    family="K tails and split-K",
    source=FOLKLORE,
    what="K blocks of zeros at the end of K are taken for padding, and the block before them is left out as its start.",
)
class _TrailingZerosTakenForPadding(Kernel):
    def steps(self, call: Call) -> list[Step]:
        steps = super().steps(call)
        used = filled(self.read_a(call), call.kb).any(0) | filled(self.read_b(call), call.kb).any(0)
        last = max(used.nonzero().flatten().tolist(), default=-1)
        return steps if last in (-1, call.kb - 1) else steps[:last]


@fault(
    "subnormal-path-loses-scale",
    family="special values",
    source="flashinfer#4685",
    what="With K a multiple of 1024, 4 subnormal codes or more in a row of a block lead to a path without its A scale.",
)
class _SubnormalPathLosesScale(Kernel):
    def row_scales(self, call: Call) -> Tensor:
        codes = super().read_a(call).abs()
        tiny = pad(((codes > 0) & (codes < 2.0**-6)).long(), (0, -call.k % BLOCK)).view(call.m, call.kb, BLOCK)
        return torch.where(tiny.sum(2) >= 4, 1.0, call.As) if call.k % 1024 == 0 else call.As
