"""The nouns: a peer, the samples that its test draws, and the registry of both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from cases.stream import Stream
from conformance.faults.kernel import Kernel
from reference.blocks import BLOCK, ceil_div

Shape = tuple[int, int, int]
"""M, N and K."""
Size = Literal["small", "large"]
SIZES: tuple[Size, ...] = ("small", "large")


@dataclass(frozen=True)
class Sample:
    """The operands of one call, and what the peer holds the result against.

    A [M,K], B [N,K], As [M,kb] and Bs [nb,kb] lie in memory as the peer lays them. ``expected`` [M,N] is its reference;
    None where the peer takes every partial product from the unit under test (`resolved`). ``unquantised`` [M,N] is the
    product of what the operands were quantised from, for peers that look at it too. ``repeats`` calls are made, and
    more than one must agree to the bit.
    """

    A: Tensor
    B: Tensor
    As: Tensor
    Bs: Tensor
    expected: Tensor | None
    out_dtype: torch.dtype = torch.bfloat16
    unquantised: Tensor | None = None
    repeats: int = 1

    @property
    def reference(self) -> Tensor:
        """``expected``, which there has to be."""
        assert self.expected is not None, "this sample is not resolved"
        return self.expected

    def resolved(self, honest: Kernel) -> Sample:
        """With a reference: where there is none, the K blocks of ``honest``, scaled and added in order in float32."""
        if self.expected is not None:
            return self
        total = torch.zeros(self.A.shape[0], self.B.shape[0], device=self.A.device)
        by_column = self.Bs.repeat_interleave(BLOCK, 0)[: self.B.shape[0]]
        for i in range(ceil_div(self.A.shape[1], BLOCK)):
            lanes = slice(i * BLOCK, (i + 1) * BLOCK)
            ones = torch.ones_like(self.As[:, i : i + 1]), torch.ones_like(self.Bs[:, i : i + 1])
            product = honest.apply_block_scaled_mm(self.A[:, lanes], self.B[:, lanes], *ones, out_dtype=torch.float32)
            total += product * (self.As[:, i, None] * by_column[None, :, i])
        return replace(self, expected=total.to(self.out_dtype))


Make = Callable[[Shape, Stream], Iterator[Sample]]
"""Draws the samples of a shape from a stream, on the device of the stream."""
Accepts = Callable[[Tensor, Sample], bool]
"""Whether the peer passes a result [M,N] for a sample."""


@dataclass(frozen=True)
class Peer:
    """The oracle of one test of the field: its inputs, its reference, its metric and limit.

    ``small`` and ``large`` are shapes that the test lists: a small one with as many edges as it has, and a large one;
    the same twice where it has one. ``prefill`` is what the result's memory holds before the call: what the test writes
    there, or the zeros of fresh memory. ``uncertain`` says where this re-creation may differ from the test.
    """

    name: str
    source: str
    what: str
    small: Shape
    large: Shape
    make: Make
    accepts: Accepts
    prefill: float = 0.0
    uncertain: str = ""

    def shape(self, size: Size) -> Shape:
        """The shape of that ``size``."""
        return self.small if size == "small" else self.large

    def samples(self, size: Size, device: torch.device, seed: int = 0) -> Iterator[Sample]:
        """Everything that the test draws at that size: the same values on every machine for a ``seed``."""
        shape = self.shape(size)
        return self.make(shape, Stream(f"peers/{self.name}/{shape}/s{seed}", device))


PEERS: dict[str, Peer] = {}


def peer(
    name: str,
    *,
    source: str,
    what: str,
    small: Shape,
    large: Shape,
    accepts: Accepts,
    prefill: float = 0.0,
    uncertain: str = "",
) -> Callable[[Make], Make]:
    """Register a generator of samples as the peer ``name``."""

    def register(make: Make) -> Make:
        PEERS[name] = Peer(name, source, what, small, large, make, accepts, prefill, uncertain)
        return make

    return register
