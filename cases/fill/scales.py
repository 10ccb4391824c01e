"""Scales of other mantissas, of either sign, zero, tiny and huge, beside blocks of zeros."""

from __future__ import annotations

import torch
from torch import Tensor

from cases.case import Case
from cases.fill.exact import scale_shapes, signs, tagged_integers
from cases.fill.values import Values
from cases.stream import Stream
from reference.blocks import Recipe, by_row, recipe_of
from reference.dot import power_of_two
from reference.formats import format_of

WIDE = (76, 100, 110)
"""Exponents: 2^-76 is about 1e-23; with 2^110 and its partner no legal intermediate leaves float32."""
LEAKING = 2.0**50
"""What the tags of blocks of zeros are multiplied by: the product of two is finite."""


def odd_scales(case: Case, stream: Stream) -> Values:
    """Scales with 12 odd mantissa bits on one side, powers of two on the other, over ternary data."""
    a, b, _, _ = tagged_integers(case, stream)
    scales = []
    for i, shape in enumerate(scale_shapes(case)):
        child = stream.child(f"scales {i}")
        if i == case.seed % 2:
            scales.append((2 * child.below(1024, *shape) + 2049).float() * 2.0**-12)
        else:
            scales.append(power_of_two(child.below(2, *shape) + 2 * child.child("row").below(2, shape[0], 1)))
    return a, b, scales[0], scales[1]


def signed_scales(case: Case, stream: Stream) -> Values:
    """Tags of either sign, one in eight zero of either sign."""
    a, b, *scales = tagged_integers(case, stream)
    signed = []
    for name, tag in zip(("As", "Bs"), scales, strict=True):
        kept = stream.child(f"{name} kept").below(8, *tag.shape) > 0
        signed.append(tag * signs(stream.child(f"{name} sign"), *tag.shape) * kept)
    return a, b, signed[0], signed[1]


def wide_scales(case: Case, stream: Stream) -> Values:
    """Tags times 2^e on one side and 2^-e on the other; e changes from K block to K block, the side with the seed."""
    a, b, sa, sb = tagged_integers(case, stream)
    which = stream.child("wide").below(len(WIDE), case.problem.k_scales)
    exponent = torch.tensor(WIDE, device=stream.device)[which] * (1 if case.seed % 2 else -1)
    return a, b, sa * power_of_two(exponent), sb * power_of_two(-exponent)


def zero_blocks(case: Case, stream: Stream) -> Values:
    """A quarter of all blocks zeros of either sign, under scales that would show anywhere else."""
    recipe = recipe_of(case.problem.recipe)
    a, b, sa, sb = tagged_integers(case, stream)
    a, sa = _emptied(stream.child("A zeros"), a, sa, recipe, recipe.a_rows)
    b, sb = _emptied(stream.child("B zeros"), b, sb, recipe, recipe.b_rows)
    return a, b, sa, sb


def _emptied(stream: Stream, codes: Tensor, scales: Tensor, recipe: Recipe, per_scale: int) -> tuple[Tensor, Tensor]:
    rows, k = codes.shape
    empty = stream.below(4, *scales.shape) == 0
    spread = by_row(by_row(empty, rows, per_scale).t(), k, recipe.lanes).t().contiguous()
    # Formats with a single zero have NaN where the others have the negative one.
    zeros = (stream.child("sign").octets(rows, k) & 1) * (0 if format_of(codes.dtype).fnuz else 0x80)
    filled = torch.where(spread, zeros, codes.view(torch.uint8)).view(codes.dtype)
    return filled, torch.where(empty, LEAKING * scales, scales)
