"""Relations about signs and zeros: products that stay what they are, and blocks that add nothing."""

from __future__ import annotations

import torch
from torch import Tensor

from cases.fill.values import Values
from cases.operands import Operands
from cases.problem import Problem
from cases.relations.related import Related
from cases.stream import Stream
from reference.blocks import BLOCK, recipe_of
from reference.dot import power_of_two
from reference.formats import format_of

SIGN, MAGNITUDE = 0x80, 0x7F


def _negated(codes: Tensor) -> Tensor:
    """Every code with the other sign; FNUZ formats have one zero, and NaN where the other would be."""
    octets = codes.view(torch.uint8)
    unsigned_zero = format_of(codes.dtype).fnuz & ((octets & MAGNITUDE) == 0)
    return torch.where(unsigned_zero, octets, octets ^ SIGN).view(codes.dtype)


def negate_a(operands: Operands, _problem: Problem, _stream: Stream) -> Related:
    """A with the other sign."""
    return Related(((_negated(operands.A), operands.B, operands.As, operands.Bs),), back=torch.neg)


def negate_lanes(operands: Operands, problem: Problem, stream: Stream) -> Related:
    """Half of the lanes with the other sign in both A and B: the same products."""
    chosen = stream.child("lanes").below(2, problem.k).bool()
    chosen[stream.child("one").below(problem.k, 1)] = True
    a, b = (
        torch.where(chosen, _negated(codes).view(torch.uint8), codes.view(torch.uint8)).view(codes.dtype)
        for codes in (operands.A, operands.B)
    )
    return Related(((a, b, operands.As, operands.Bs),))


def zero_block(operands: Operands, problem: Problem, stream: Stream) -> Related:
    """One block of zeros a side, under small scales and under the same times a large power of two.

    The factor is a power of two so that kernels which divide one block's scale by another's stay exact, too.
    """
    recipe = recipe_of(problem.recipe)
    a, small_a, large_a = _emptied(operands.A, operands.As, operands.Bs, recipe.a_rows, stream.child("A"))
    b, small_b, large_b = _emptied(operands.B, operands.Bs, operands.As, recipe.b_rows, stream.child("B"))
    return Related(((a, b, large_a, large_b),), first=(a, b, small_a, small_b))


def _emptied(
    codes: Tensor, scales: Tensor, opposite: Tensor, per_scale: int, stream: Stream
) -> tuple[Tensor, Tensor, Tensor]:
    """Codes with the block of one scale zero, and two versions of the scales: 2^-20 .. 2^-10, and 2^50 times that.

    Both are smaller where a scale on the other side is so large that the product could overflow.
    """
    row = int(stream.child("row").below(scales.shape[0], 1))
    block = int(stream.child("block").below(scales.shape[1], 1))
    octets = codes.view(torch.uint8).clone()
    octets[row * per_scale : (row + 1) * per_scale, block * BLOCK : (block + 1) * BLOCK] = 0
    beside = opposite[:, block].abs().nan_to_num(1.0, posinf=1.0).amax().clamp(min=1.0)
    small, large = scales.clone(), scales.clone()
    down = power_of_two(1 - torch.frexp(beside).exponent)
    small[row, block] = stream.child("scale").floats(-20, -10, 1)[0] * down
    large[row, block] = small[row, block] * 2.0**50
    return octets.view(codes.dtype), small, large


def append_zero_k(operands: Operands, _problem: Problem, stream: Stream) -> Related:
    """One to four K blocks of zeros behind the last one, under scales above 1."""
    blocks = 1 + int(stream.child("blocks").below(4, 1))

    def longer(codes: Tensor, scales: Tensor, side: str) -> tuple[Tensor, Tensor]:
        nothing = torch.zeros(codes.shape[0], blocks * BLOCK, dtype=torch.uint8, device=codes.device)
        loud = stream.child(side).floats(0, 8, scales.shape[0], blocks)
        return torch.cat([codes.view(torch.uint8), nothing], 1).view(codes.dtype), torch.cat([scales, loud], 1)

    (a, sa), (b, sb) = longer(operands.A, operands.As, "As"), longer(operands.B, operands.Bs, "Bs")
    return Related(((a, b, sa, sb),))


def split_k(operands: Operands, problem: Problem, _stream: Stream) -> Related:
    """The first half of the K blocks and the rest, whose results add up."""
    cut = problem.k_blocks // 2
    first, rest = slice(0, cut), slice(cut, None)
    return Related((_blocks(operands, first), _blocks(operands, rest)))


def _blocks(operands: Operands, blocks: slice) -> Values:
    lanes = slice(blocks.start * BLOCK, None if blocks.stop is None else blocks.stop * BLOCK)
    cut = (operands.A[:, lanes], operands.B[:, lanes], operands.As[:, blocks], operands.Bs[:, blocks])
    # A single element counts as contiguous whatever its strides, which a byte view does not accept.
    a, b, sa, sb = (x.clone(memory_format=torch.contiguous_format) for x in cut)
    return a, b, sa, sb
