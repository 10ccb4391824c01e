"""How far alignment and truncation can take a dot product, in one K block or in several: the walk behind the bound.

A unit that keeps F fraction bits loses less than 2^(emax - F) for every term whose lowest bit lies below that, and
cuts the sum to its significant bits, F + 1 or the 24 of a float32. Both losses follow from the inputs: emax from the
exponents of the products and from an upper bound of the running value, which is its exact partial sum plus the error
so far. See docs/arithmetic.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reference.blocks import BLOCK
from reference.dot import LOWEST

SUBGROUP = 16
"""Groups of every known unit are made of these."""


@dataclass(frozen=True)
class Order:
    """In which groups, and from which end, a unit is assumed to walk through a K block."""

    group: int
    fraction_bits: int
    significant_bits: int
    backward: bool = False

    def spans(self) -> Sequence[range]:
        """The subgroups of each step, in the order walked."""
        width = self.group // SUBGROUP
        spans = [range(i, i + width) for i in range(0, BLOCK // SUBGROUP, width)]
        return spans[::-1] if self.backward else spans


@dataclass(frozen=True)
class BlockFacts:
    """What the walks need of the products of some K blocks, all planes [kb, M, N].

    ``exponents`` are lane planes (a, b) whose zero products lie above all others, so that they never count as cut;
    ``largest`` [8, ...] is the largest exponent and ``sums`` [8, ...] the exact sum of every 16 products.
    """

    lane_exponents: tuple[Tensor, Tensor]
    lowest_bit: int
    largest: Tensor
    sums: Tensor


def floor_log2(x: Tensor) -> Tensor:
    """``floor(log2 x)`` of non-negative float64 as int16, at least LOWEST."""
    biased = (x.view(torch.int64) >> 52) - 1023
    return biased.clamp_(min=LOWEST).to(torch.int16)


@dataclass(frozen=True)
class Walked:
    """How far a walk has come, float64 [kb, M, N]: the exact partial sum, and what the unit may be off by."""

    total: Tensor
    error: Tensor


def walk_error(facts: BlockFacts, order: Order) -> Tensor:
    """Bound of |unit's P_b - P_b| for every element, float64 [kb, M, N], when the unit walks in ``order``."""
    return walk(facts, order).error


def walk(facts: BlockFacts, order: Order, so_far: Walked | None = None) -> Walked:
    """The walk through ``facts`` in ``order``: of every K block by itself, or on from what came before."""
    start = so_far or Walked(*(torch.zeros_like(facts.sums[0]) for _ in range(2)))
    total, error = start.total, start.error
    for step, span in enumerate(order.spans()):
        products = facts.largest[span.start : span.stop].amax(0).to(torch.int16)
        largest = torch.maximum(products, floor_log2(total.abs() + error))
        threshold = largest - order.fraction_bits
        cut = _count_cut(facts, span, threshold) + (0 if step == 0 and so_far is None else 1)
        total = total + facts.sums[span.start : span.stop].sum(0)
        error = error + cut * _power(threshold)
        error = error + _power(floor_log2(total.abs() + error) - (order.significant_bits - 1))
    return Walked(total, error)


def _power(exponent: Tensor) -> Tensor:
    return ((exponent.long() + 1023) << 52).view(torch.float64)


def _count_cut(facts: BlockFacts, span: range, threshold: Tensor) -> Tensor:
    """How many products of the ``span`` have bits below ``2^threshold``, float64."""
    a, b = facts.lane_exponents
    limit = (threshold - facts.lowest_bit).to(torch.int8)
    count = torch.zeros_like(limit)
    exponent, below = torch.empty_like(limit), torch.empty_like(limit, dtype=torch.bool)
    for lane in range(span.start * SUBGROUP, span.stop * SUBGROUP):
        torch.add(a[lane], b[lane], out=exponent)
        torch.lt(exponent, limit, out=below)
        count += below.view(torch.int8)
    return count.double()
