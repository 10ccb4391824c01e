"""The bit model of a dot-product unit, in eager torch: always right, on any device, for every `Arithmetic`.

For every output element and every group of products, with the running value c: all terms are brought to a multiple of
2^(emax - fraction_bits), emax the largest exponent among them, and added exactly; the sum is brought to
fraction_bits + 1 significant bits and becomes c. See docs/arithmetic.md.

One plane per lane of the K block holds a term of every output element at once; nothing of size M x N x K exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from reference.arithmetic import Arithmetic, Rounding
from reference.formats import NO_EXPONENT, decode, exponents
from reference.tiles import Tile, budget, lanes_first, tiles

LOWEST = -45
"""Below every exponent that a product or a running value can have: nothing is there to be aligned."""
FLOAT_BIAS, FLOAT_FRACTION = 127, 23
SINGLE_IS_EXACT = 16
"""Up to so many fraction bits the aligned integers of a group, and their sum, are exact in float32."""

ROUND: dict[Rounding, Callable[[Tensor], Tensor]] = {
    "truncate": Tensor.trunc_,
    "floor": Tensor.floor_,
    "nearest": Tensor.round_,
}


def power_of_two(exponent: Tensor) -> Tensor:
    """``2**exponent`` as float32 for integer tensors within the normal range."""
    return ((exponent.int() + FLOAT_BIAS) << FLOAT_FRACTION).view(torch.float32)


def exponent_of(x: Tensor) -> Tensor:
    """``floor(log2|x|)`` of floats that are float32 values, as int8 clamped to [LOWEST, 127]; zeros give LOWEST."""
    biased = (x.float().view(torch.int32) >> FLOAT_FRACTION) & 0xFF
    return (biased - FLOAT_BIAS).clamp_(LOWEST, 127).to(torch.int8)


@dataclass(frozen=True)
class Lanes:
    """Operands by lane: values ``a`` [width, blocks, M, 1] and ``b`` [width, blocks, 1, N], exponents likewise."""

    a: Tensor
    b: Tensor
    ea: Tensor
    eb: Tensor

    @classmethod
    def of(cls, A: Tensor, B: Tensor, arithmetic: Arithmetic) -> Lanes:
        """The lanes of A [M,K] and B [N,K], cut where the arithmetic promotes."""
        width = arithmetic.promotion
        dtype = torch.float32 if arithmetic.fraction_bits <= SINGLE_IS_EXACT else torch.float64
        a, b = (lanes_first(decode(x).to(dtype), width) for x in (A, B))
        ea, eb = (lanes_first(exponents(x), width, filled=NO_EXPONENT) for x in (A, B))
        return cls(a.unsqueeze(3), b.unsqueeze(2), ea.unsqueeze(3), eb.unsqueeze(2))

    def at(self, blocks: slice, tile: Tile) -> Lanes:
        """Some blocks of one tile of the result."""
        rows, cols = (slice(None), blocks, tile.rows), (slice(None), blocks, slice(None), tile.cols)
        return Lanes(self.a[rows], self.b[cols], self.ea[rows], self.eb[cols])


def block_products(lanes: Lanes, arithmetic: Arithmetic) -> Tensor:
    """Dot products between promotions, float [blocks, M, N], every one a float32 value."""
    shape = (lanes.a.shape[1], lanes.a.shape[2], lanes.b.shape[3])
    running = torch.zeros(shape, dtype=lanes.a.dtype, device=lanes.a.device)
    for start in range(0, lanes.a.shape[0], arithmetic.group):
        group = range(start, start + arithmetic.group)
        largest = _largest_exponent(exponent_of(running), lanes, group)
        running = _fused_dot(running, largest, lanes, group, arithmetic)
    return running


def _largest_exponent(largest: Tensor, lanes: Lanes, group: range) -> Tensor:
    product = torch.empty_like(largest)
    for lane in group:
        torch.add(lanes.ea[lane], lanes.eb[lane], out=product)
        torch.maximum(largest, product, out=largest)
    return largest


def _fused_dot(running: Tensor, largest: Tensor, lanes: Lanes, group: range, arithmetic: Arithmetic) -> Tensor:
    align = ROUND[arithmetic.alignment]
    to_integer = power_of_two(arithmetic.fraction_bits - largest).to(running.dtype)
    total = align(running.mul_(to_integer))
    product = torch.empty_like(total)
    for lane in group:
        torch.mul(lanes.a[lane], lanes.b[lane], out=product)
        total.add_(align(product.mul_(to_integer)))
    return _normalised(total, arithmetic).mul_(power_of_two(largest - arithmetic.fraction_bits))


def _normalised(total: Tensor, arithmetic: Arithmetic) -> Tensor:
    """Integer ``total`` brought to the significant bits of the running value."""
    excess = (_bit_length(total) - arithmetic.significant_bits).clamp_(min=0)
    unit = power_of_two(excess).to(total.dtype)
    return ROUND[arithmetic.normalisation](total.div_(unit)).mul_(unit)


def _bit_length(total: Tensor) -> Tensor:
    """Bits of the integers in ``total``, at least 1; a value that is none (NaN, infinity) counts as 1."""
    bits, fraction, bias = (torch.int32, 23, 127) if total.dtype == torch.float32 else (torch.int64, 52, 1023)
    exponent = ((total.view(bits) >> fraction) & (2 * bias + 1)) - bias
    return torch.where(exponent > bias, 0, exponent).clamp_(min=0) + 1


def iter_block_products(A: Tensor, B: Tensor, arithmetic: Arithmetic) -> Iterator[tuple[Tile, Tensor]]:
    """The dot products between promotions of A [M,K] and B [N,K], tile by tile: float32 [blocks, rows, cols]."""
    lanes = Lanes.of(A, B, arithmetic)
    limit = budget(A)
    for tile in tiles(A.shape[0], B.shape[0], limit=limit):
        rows, cols = tile.shape
        at_once = max(1, limit // (rows * cols))
        starts = range(0, lanes.a.shape[1], at_once)
        parts = [block_products(lanes.at(slice(i, i + at_once), tile), arithmetic) for i in starts]
        yield tile, torch.cat(parts).float() if parts else torch.zeros(0, rows, cols, device=A.device)
