"""The bit model written down as shortly as it goes: what compilers are measured on, and a check on the fast forms."""

from __future__ import annotations

import torch
from torch import Tensor

from reference.arithmetic import Arithmetic
from reference.dot import Lanes, exponent_of, power_of_two


def plain_block_products(lanes: Lanes, arithmetic: Arithmetic) -> Tensor:
    """As `reference.dot.block_products`, for arithmetics that truncate with 16 fraction bits at most.

    All products of a group stand in one tensor here, ``group`` times the size of the result, unless a compiler fuses
    them away.
    """
    width, bits = lanes.a.shape[0], arithmetic.fraction_bits
    running = torch.zeros(
        lanes.a.shape[1], lanes.a.shape[2], lanes.b.shape[3], dtype=torch.float32, device=lanes.a.device
    )
    for start in range(0, width, arithmetic.group):
        group = slice(start, start + arithmetic.group)
        largest = torch.maximum(exponent_of(running), (lanes.ea[group] + lanes.eb[group]).amax(0))
        to_integer = power_of_two(bits - largest)
        terms = (lanes.a[group] * lanes.b[group] * to_integer).trunc().sum(0)
        total = terms + (running * to_integer).trunc()
        cut = (total.view(torch.int32) & (-1 << (23 - bits))).view(torch.float32)
        running = cut * power_of_two(largest - bits)
    return running
