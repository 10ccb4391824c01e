"""Kernels whose single results are right within the bound, and whose results do not follow from one another."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from reference import SM90, emulate_block_scaled_mm
from reference.blocks import scale_rows

SLIGHT = 1 + 2.0**-20
"""Far below what alignment loses, far above a float32's last bit."""


class Model:
    """SM90, claimed and given; as a model it is held to the bound alone."""

    name = "model"
    is_model = True
    arithmetic = SM90

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        return self.spoil(emulate_block_scaled_mm(A, B, As, Bs, out_dtype=torch.float32), A, B).to(out_dtype)

    def spoil(self, out: Tensor, A: Tensor, B: Tensor) -> Tensor:
        return out


class FirstRow(Model):
    def spoil(self, out: Tensor, A: Tensor, B: Tensor) -> Tensor:
        out[0] *= SLIGHT
        return out


class FirstColumn(Model):
    def spoil(self, out: Tensor, A: Tensor, B: Tensor) -> Tensor:
        out[:, 0] *= SLIGHT
        return out


class FirstNBlock(Model):
    def spoil(self, out: Tensor, A: Tensor, B: Tensor) -> Tensor:
        out[:, :128] *= SLIGHT
        return out


class FirstLane(Model):
    """The first lane of every 32 counts for a little more."""

    def spoil(self, out: Tensor, A: Tensor, B: Tensor) -> Tensor:
        return out + A[:, ::32].float() @ B[:, ::32].float().t() * 2.0**-36


class Floor(Model):
    """Cuts toward minus infinity what SM90 cuts toward zero."""

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        floor = replace(SM90, name="floor", alignment="floor")
        return emulate_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype, arithmetic=floor)


class Loop:
    """Right, undeclared: a float64 loop over K blocks."""

    name = "loop"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        sa, sb = self.scales(As, Bs, B.shape[0])
        total = torch.zeros(A.shape[0], B.shape[0], dtype=torch.float64)
        for block in range(As.shape[1]):
            lanes = slice(128 * block, 128 * block + 128)
            total += self.product(A[:, lanes].double(), B[:, lanes].double(), block) * (
                sa[block, :, None] * sb[block, None, :]
            )
        return total.float().to(out_dtype)

    def scales(self, As: Tensor, Bs: Tensor, n: int) -> tuple[Tensor, Tensor]:
        return As.double().t(), scale_rows(Bs.double(), n, 128)

    def product(self, a: Tensor, b: Tensor, block: int) -> Tensor:
        return a @ b.t()


class SignOfWeight(Loop):
    """Negative weights count for a little more."""

    def product(self, a: Tensor, b: Tensor, block: int) -> Tensor:
        return a @ torch.where(b < 0, b * SLIGHT, b).t()


class FixedPointActivations(Loop):
    """A scales in fixed point: 2^-30 is their last bit."""

    def scales(self, As: Tensor, Bs: Tensor, n: int) -> tuple[Tensor, Tensor]:
        sa, sb = super().scales(As, Bs, n)
        return (sa * 2.0**30).round() * 2.0**-30, sb


class FixedPointWeights(Loop):
    """B scales likewise."""

    def scales(self, As: Tensor, Bs: Tensor, n: int) -> tuple[Tensor, Tensor]:
        sa, sb = super().scales(As, Bs, n)
        return sa, (sb * 2.0**30).round() * 2.0**-30


class SharedExponent(Loop):
    """The A scales of a row as multiples of 2^-70 times the largest of them, the B scales of a column likewise."""

    def scales(self, As: Tensor, Bs: Tensor, n: int) -> tuple[Tensor, Tensor]:
        shared = []
        for scales in super().scales(As, Bs, n):
            unit = scales.abs().amax(0) * 2.0**-70
            shared.append((scales / unit).round() * unit)
        return shared[0], shared[1]


class FirstKBlock(Loop):
    """The first K block counts for too much."""

    def product(self, a: Tensor, b: Tensor, block: int) -> Tensor:
        return a @ b.t() * (1 if block else 1 + 2.0**-4)


class LosesALane(Loop):
    """The first product of all is lost."""

    def product(self, a: Tensor, b: Tensor, block: int) -> Tensor:
        return a @ b.t() if block else a[:, 1:] @ b[:, 1:].t()


class OnlyFiveKBlocks(Loop):
    """With any other number of K blocks than five the first two are swapped in the B scales."""

    def scales(self, As: Tensor, Bs: Tensor, n: int) -> tuple[Tensor, Tensor]:
        sa, sb = super().scales(As, Bs, n)
        return sa, sb if sb.shape[0] == 5 else sb.roll(1, 0)


class EverySecondCall(Loop):
    """Right in every first call."""

    def __init__(self) -> None:
        self.calls = 0

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        self.calls += 1
        out = super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        return out if self.calls % 2 else self.misbehave(out, As)

    def misbehave(self, out: Tensor, As: Tensor) -> Tensor:
        raise NotImplementedError


class EverySecondCallRaises(EverySecondCall):
    def misbehave(self, out: Tensor, As: Tensor) -> Tensor:
        raise RuntimeError("the second call")


class EverySecondCallWrites(EverySecondCall):
    def misbehave(self, out: Tensor, As: Tensor) -> Tensor:
        As[0, 0] += 1
        return out


class EverySecondCallIsWider(EverySecondCall):
    def misbehave(self, out: Tensor, As: Tensor) -> Tensor:
        return out.double()


class Drifting(Model):
    """Every call counts for a little more than the one before it."""

    def __init__(self) -> None:
        self.calls = 0

    def spoil(self, out: Tensor, A: Tensor, B: Tensor) -> Tensor:
        self.calls += 1
        return out if self.calls == 1 else out * SLIGHT


class SameMemory(Drifting):
    """Drifting, and every result in the same memory."""

    def __init__(self) -> None:
        super().__init__()
        self.out = torch.empty(0)

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        out = super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        self.out = self.out if self.out.numel() else torch.empty_like(out)
        return self.out.copy_(out)
