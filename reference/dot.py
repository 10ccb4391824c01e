"""The bit model of one K block: chained fused dot products that align and truncate.

For every output element and every group of products, with the running value c: all terms are cut toward zero to a
multiple of 2^(emax - fraction_bits), emax the largest exponent among them, and added exactly; the sum is cut to
fraction_bits + 1 significant bits and becomes c. See docs/arithmetic.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from reference.arithmetic import Arithmetic
from reference.blocks import BLOCK, ceil_div
from reference.formats import NO_EXPONENT, decode, exponents
from reference.tiles import Tile, budget, lanes_first, tiles

LOWEST = -45
"""Below every exponent that a product or a running value can have: nothing is there to be aligned."""
FLOAT_BIAS, FLOAT_FRACTION = 127, 23


def power_of_two(exponent: Tensor) -> Tensor:
    """``2**exponent`` as float32 for integer tensors within the normal range."""
    return ((exponent.int() + FLOAT_BIAS) << FLOAT_FRACTION).view(torch.float32)


def exponent_of(x: Tensor) -> Tensor:
    """``floor(log2|x|)`` of float32 as int8, clamped to [LOWEST, 127]; zeros give LOWEST."""
    biased = (x.view(torch.int32) >> FLOAT_FRACTION) & 0xFF
    return (biased - FLOAT_BIAS).clamp_(LOWEST, 127).to(torch.int8)


def block_products(a: Tensor, b: Tensor, ea: Tensor, eb: Tensor, arithmetic: Arithmetic) -> Tensor:
    """Dot products of whole K blocks, float32 [kb, M, N].

    ``a`` [128, kb, M, 1] and ``b`` [128, kb, 1, N] are decoded values, ``ea`` and ``eb`` their exponents.
    """
    running = torch.zeros(a.shape[1], a.shape[2], b.shape[3], device=a.device)
    for start in range(0, BLOCK, arithmetic.group):
        lanes = range(start, start + arithmetic.group)
        largest = _largest_exponent(exponent_of(running), ea, eb, lanes)
        running = _fused_dot(running, largest, a, b, lanes, arithmetic.fraction_bits)
    return running


def _largest_exponent(largest: Tensor, ea: Tensor, eb: Tensor, lanes: range) -> Tensor:
    product = torch.empty_like(largest)
    for lane in lanes:
        torch.add(ea[lane], eb[lane], out=product)
        torch.maximum(largest, product, out=largest)
    return largest


def _fused_dot(running: Tensor, largest: Tensor, a: Tensor, b: Tensor, lanes: range, fraction_bits: int) -> Tensor:
    to_integer = power_of_two(fraction_bits - largest)
    total = running.mul_(to_integer).trunc_()
    product = torch.empty_like(total)
    for lane in lanes:
        torch.mul(a[lane], b[lane], out=product)
        total.add_(product.mul_(to_integer).trunc_())
    cut = -1 << (FLOAT_FRACTION - fraction_bits)
    total.view(torch.int32).bitwise_and_(cut)
    return total.mul_(power_of_two(largest - fraction_bits))


def iter_block_products(A: Tensor, B: Tensor, arithmetic: Arithmetic) -> Iterator[tuple[Tile, Tensor]]:
    """The dot products of all K blocks of A [M,K] and B [N,K], tile by tile: (tile, float32 [kb, rows, cols])."""
    a, ea = lanes_first(decode(A)).unsqueeze(3), lanes_first(exponents_padded(A)).unsqueeze(3)
    b, eb = lanes_first(decode(B)).unsqueeze(2), lanes_first(exponents_padded(B)).unsqueeze(2)
    limit = budget(A)
    for tile in tiles(A.shape[0], B.shape[0], limit=limit):
        rows, cols = tile.shape
        at_once = max(1, limit // (rows * cols))
        parts = []
        for i in range(0, ceil_div(A.shape[1], BLOCK), at_once):
            blocks = slice(i, i + at_once)
            at, bt = a[:, blocks, tile.rows], b[:, blocks, :, tile.cols]
            parts.append(block_products(at, bt, ea[:, blocks, tile.rows], eb[:, blocks, :, tile.cols], arithmetic))
        yield tile, torch.cat(parts)


def exponents_padded(x: Tensor) -> Tensor:
    """Exponents of ``x`` [R, K] with the ragged last K block filled up as zeros are."""
    missing = -x.shape[1] % BLOCK
    return torch.nn.functional.pad(exponents(x), (0, missing), value=NO_EXPONENT)
