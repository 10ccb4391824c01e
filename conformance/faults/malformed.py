"""Seeded faults: operands that contradict each other, or of the wrong dtype, are accepted."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Call, Family, Kernel, fault
from reference.blocks import DEFAULT_RECIPE

CONTRACT: Family = "platform and contract"


@fault(
    "accepts-b-scale-per-row",
    family=CONTRACT,
    source="TileOPs#2040",
    what="B scales with too many rows, one per column of the result, are accepted and the leading ones read.",
)
class _AcceptsBScalePerRow(Kernel):
    def check(self, call: Call, recipe: str) -> None:
        leading = Call(call.A, call.B, call.As, call.Bs[: call.nb], call.out_dtype)
        super().check(leading, recipe)


@fault(
    "accepts-integer-scales",
    family=CONTRACT,
    source="DeepGEMM#417",
    what="Scales of another dtype are accepted: 32 bit integers are reinterpreted as float32, others are cast.",
)
class _AcceptsIntegerScales(Kernel):
    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = DEFAULT_RECIPE
    ) -> Tensor:
        """The call, with scales of any dtype."""
        As, Bs = (s.view(torch.float32) if s.dtype == torch.int32 else s.float() for s in (As, Bs))
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype, recipe=recipe)


@fault(
    "accepts-unequal-k",
    family=CONTRACT,
    source="vllm#28637",
    what="K is taken from A alone: a B with longer rows is accepted and its further lanes are ignored.",
)
class _AcceptsUnequalK(Kernel):
    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = DEFAULT_RECIPE
    ) -> Tensor:
        """The call, with B cut to the K of A."""
        B, Bs = B[:, : A.shape[1]], Bs[:, : As.shape[1]]
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype, recipe=recipe)


@fault(
    "accepts-double-scales",
    family=CONTRACT,
    source="vllm#47103",
    what="The dtype of scales is not looked at: the bytes of float64 are read as float32.",
)
class _AcceptsDoubleScales(Kernel):
    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = DEFAULT_RECIPE
    ) -> Tensor:
        """The call, with as many floats of each scale operand as it should have."""
        if As.dtype == torch.float64:
            As, Bs = (s.contiguous().view(torch.float32)[:, : s.shape[1]] for s in (As, Bs))
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype, recipe=recipe)


@fault(
    "accepts-bytes",
    family=CONTRACT,
    source=FOLKLORE,
    what="Codes in a uint8 container are accepted and taken for the numbers 0 to 255.",
)
class _AcceptsBytes(Kernel):
    def check(self, call: Call, recipe: str) -> None:
        a, b = (x.view(torch.float8_e4m3fn) if x.dtype == torch.uint8 else x for x in (call.A, call.B))
        super().check(Call(a, b, call.As, call.Bs, call.out_dtype), recipe)


@fault(
    "a-scales-counted-only",
    family=CONTRACT,
    source="flashinfer#2147",
    what="A scales are checked for their number of elements alone, and [kb, M] is read as [M, kb].",
)
class _AScalesCountedOnly(Kernel):
    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = DEFAULT_RECIPE
    ) -> Tensor:
        """The call, with A scales of the shape that they should have."""
        expected = A.shape[0], Call(A, B, As, Bs, out_dtype).kb
        if As.shape != expected and As.numel() == expected[0] * expected[1]:
            As = As.reshape(expected)
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype, recipe=recipe)


class _AcceptsShortScales(Kernel):
    """Scales with too few blocks are filled up, with the last of them."""

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = DEFAULT_RECIPE
    ) -> Tensor:
        """The call, with as many scales as it should have."""
        As, Bs = self.filled(Call(A, B, As, Bs, out_dtype))
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype, recipe=recipe)

    def filled(self, call: Call) -> tuple[Tensor, Tensor]:
        """A scales [M, kb] and B scales [nb, kb]."""
        raise NotImplementedError


@fault(
    "accepts-short-a-scales",
    family=CONTRACT,
    source="TileOPs#2040",
    what="A scales with too few K blocks are accepted: the index is clamped to the last of them.",
)
class _AcceptsShortAScales(_AcceptsShortScales):
    def filled(self, call: Call) -> tuple[Tensor, Tensor]:
        return _lengthened(call.As, 1, call.kb), call.Bs


@fault(
    "accepts-short-b-scales",
    family=CONTRACT,
    source="TileOPs#2040",
    what="B scales with too few N blocks are accepted: the index is clamped to the last of them.",
)
class _AcceptsShortBScales(_AcceptsShortScales):
    def filled(self, call: Call) -> tuple[Tensor, Tensor]:
        return call.As, _lengthened(call.Bs, 0, call.nb)


def _lengthened(scales: Tensor, axis: int, least: int) -> Tensor:
    blocks = torch.arange(max(scales.shape[axis], least), device=scales.device)
    return scales.index_select(axis, blocks.clamp(max=scales.shape[axis] - 1))
