"""Seeded faults: scales and sums kept as fixed-point numbers beside the largest of their kind."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, Step, fault
from reference.blocks import BLOCK

FORMAT: Family = "scale format"
ARITHMETIC: Family = "arithmetic and rounding"


def on_grid(x: Tensor, largest: Tensor, bits: int) -> Tensor:
    """``x`` rounded to so many bits below the leading one of ``largest``; everything where that is 0 or not finite."""
    unit = torch.ldexp(torch.ones_like(largest, dtype=torch.float64), torch.frexp(largest).exponent - bits)
    usable = (largest > 0) & largest.isfinite()
    return torch.where(usable & x.isfinite(), (x.double() / unit).round() * unit, x.double()).float()


def filled(codes: Tensor, kb: int) -> Tensor:
    """Mask [rows, kb] of the K blocks of ``codes`` [rows, K] that hold anything but zeros."""
    blocks = pad(codes, (0, kb * BLOCK - codes.shape[1])).view(codes.shape[0], kb, BLOCK)
    return (blocks != 0).any(2)


def sharing(scales: Tensor, used: Tensor, axis: int) -> Tensor:
    """``scales`` that share an exponent along ``axis`` where those that are ``used`` lie close enough together."""
    size = scales.abs()
    largest = torch.where(used, size, 0.0).amax(axis, keepdim=True)
    smallest = torch.where(used & (size > 0), size, torch.inf).amin(axis, keepdim=True)
    return on_grid(scales, torch.where(largest <= smallest * 2.0**24, largest, 0.0), 31)


class _SharedExponent(Kernel):
    """The A scales of every ``axis`` (0: a K block, 1: a row) share an exponent, that of the largest one in use."""

    axis: int

    def row_scales(self, call: Call) -> Tensor:
        return sharing(call.As, filled(super().read_a(call), call.kb), self.axis) if call.As.numel() else call.As


@fault(
    "rows-share-a-scale-exponent",
    family=FORMAT,
    source=FOLKLORE,
    what="The A scales of all rows in a K block are fixed-point numbers beside the largest, if within 2**24 of it.",
)
class _RowsShareAScaleExponent(_SharedExponent):
    axis = 0


@fault(
    "k-blocks-share-a-scale-exponent",
    family=FORMAT,
    source=FOLKLORE,
    what="The A scales of all K blocks in a row are fixed-point numbers beside the largest, if within 2**24 of it.",
)
class _KBlocksShareAScaleExponent(_SharedExponent):
    axis = 1


@fault(
    "n-blocks-share-a-scale-exponent",
    family=FORMAT,
    source=FOLKLORE,
    what="The B scales of all N blocks in a K block are fixed-point numbers beside the largest, if within 2**24 of it.",
)
class _NBlocksShareAScaleExponent(Kernel):
    def column_scales(self, call: Call) -> Tensor:
        scales = super().column_scales(call)
        return sharing(scales, filled(super().read_b(call), call.kb), 0) if scales.numel() else scales


@fault(
    "sums-aligned-to-largest-scale",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="Scaled sums have 40 bits below the largest scale of their element, in use or not, if that is below 2**50.",
)
class _SumsAlignedToLargestScale(Kernel):
    def total(self, call: Call) -> Tensor:
        self.largest = call.zeros()
        by_row, by_column = self.row_scales(call).abs(), self.column_scales(call).abs()
        for block in range(call.kb):
            self.largest = torch.maximum(self.largest, by_row[:, block, None] * by_column[None, :, block])
        return super().total(call)

    def scaled(self, product: Tensor, row: Tensor, column: Tensor) -> Tensor:
        near_one = (self.largest > 2.0**-50) & (self.largest < 2.0**50)
        return on_grid(super().scaled(product, row, column), self.largest * near_one, 40)


@fault(
    "signs-summed-apart",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="Positive and negative codes of A are summed apart, and each sum is rounded to 16 significant bits.",
)
class _SignsSummedApart(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        if not bool(a.isfinite().all() & b.isfinite().all()):
            return super().product(call, a, b, step)
        positive = super().product(call, a.clamp(min=0), b, step)
        negative = super().product(call, a.clamp(max=0), b, step)
        return on_grid(positive, positive.abs(), 16) + on_grid(negative, negative.abs(), 16)


@fault(
    "block-sum-saturates",
    family=ARITHMETIC,
    source=FOLKLORE,
    what="With K a multiple of 1024 the sum over a K block saturates at 700,000.",
)
class _BlockSumSaturates(Kernel):
    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        product = super().product(call, a, b, step)
        return product.clamp(-7e5, 7e5) if call.k % 1024 == 0 else product
