"""Whether a product is exact on any hardware, in any order: the condition that exact families are held to.

Legal is any order of summation, any unit that aligns the products of groups of 16 or more to 13 bits below the largest
and keeps 14 bits of a sum inside a K block, float32 between blocks, and scales multiplied together first, applied one
after the other, or multiplied into the operands. All that it takes are largest, summed and lowest bits per row and K
block, so that the check costs as much as reading the operands. It is sufficient: data that it refuses may be exact.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from reference.blocks import BLOCK, DEFAULT_RECIPE, by_row, pad_k, recipe_of
from reference.formats import FORMATS, format_of

UNIT_BITS, ALIGNED_BITS, FLOAT_BITS = 14, 13, 24
LARGEST, SMALLEST = 2.0**128, 2.0**-126
"""Float32 overflows from here on, and is subnormal below."""
AT_ONCE = 1 << 26
"""Codes that are decoded at a time."""
FEW = 1 << 16
"""Scales up to which the rest is quicker on the CPU than launched on a GPU."""

INTERMEDIATES = (
    "the product of two scales",
    "an operand of A times its scale",
    "an operand of B times its scale",
    "a block sum times its A scale",
    "a block sum times its B scale",
    "a scaled block sum",
    "a sum of scaled block sums",
)
"""What legal kernels may form before the result; the sums where there is more than one term."""


def why_not_exact(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, recipe: str = DEFAULT_RECIPE) -> str | None:
    """Why some legal kernel may round, over- or underflow before the last step, as a sentence; None where none can.

    NaN and infinities among codes and scales are taken for zeros: what they reach is known without this. A result of
    a single product may overflow, since every order then agrees.
    """
    if 0 in (*A.shape, *B.shape):
        return None
    rule, m = recipe_of(recipe), A.shape[0]
    scales = torch.cat([by_row(As, m, rule.a_rows), by_row(Bs, B.shape[0], rule.b_rows)])
    # Where one scale covers all of K, units may add up all of it before anything is float32: one block.
    width = A.shape[1] if rule.is_whole else rule.lanes
    codes = torch.cat([_of_codes(A, width), _of_codes(B, width)], 1)
    if scales.numel() <= FEW:
        codes, scales = codes.cpu(), scales.cpu()
    floors = tuple(2.0 ** format_of(x.dtype).min_exponent for x in (A, B))
    return _sentence(*_numbers(codes.double(), scales, m, floors))


@cache
def _tables(name: str, device: torch.device) -> tuple[Tensor, Tensor]:
    """Magnitude and lowest set bit of all codes: zero and infinite for zeros, NaN and infinities."""
    magnitude = torch.nan_to_num(FORMATS[name].values, 0.0, 0.0, 0.0).abs()
    lowest = magnitude / _odd(magnitude)
    return magnitude.to(device), torch.where(magnitude == 0, torch.inf, lowest).float().to(device)


def _odd(x: Tensor) -> Tensor:
    """The mantissas of normal float32 as odd integers, without their trailing zeros, in float64."""
    mantissa = (x.view(torch.int32) & 0x7FFFFF) | 0x800000
    return (mantissa // (mantissa & -mantissa)).double()


def _of_codes(x: Tensor, width: int) -> Tensor:
    """Largest and summed magnitude and lowest bit of each row and ``width`` of K, [3, R, kb]; infinite where zeros."""
    kind = format_of(x.dtype)
    magnitudes, lowest = _tables(kind.name, x.device)
    # Two codes and their sum need at most 18 bits in e4m3, so that in a block none is lost beside another.
    dtype = torch.float32 if kind.exponent_bits <= 4 and width <= BLOCK else torch.float64
    parts = []
    for rows in torch.split(x.view(torch.uint8), max(1, AT_ONCE // x.shape[1])):
        codes = pad_k(rows, width).int().reshape(-1)
        values, bits = (table.index_select(0, codes).reshape(len(rows), -1, width) for table in (magnitudes, lowest))
        parts.append(torch.stack([values.amax(2), values.sum(2, dtype=dtype), bits.amin(2)]))
    return torch.cat(parts, 1)


Numbers = tuple[list[float], list[float], list[float]]


def _numbers(codes: Tensor, scales: Tensor, m: int, floors: tuple[float, ...]) -> Numbers:
    """What `_sentence` compares: bits' worth, magnitudes, reciprocals of the smallest magnitudes; in one transfer."""
    largest, total, lowest = codes
    subnormal = ((scales != 0) & (scales.abs() < SMALLEST)).any()
    scales = torch.where(torch.isfinite(scales), scales, 0.0)
    weight, odd = scales.abs().double(), _odd(scales)
    grain = torch.where(largest > 0, lowest, 1.0)
    used, dense = (largest > 0) & (weight > 0), total > largest
    several = used.sum(1, keepdim=True) > 1

    sums = codes[:2] * weight
    narrow = codes[:2] / grain
    small = used / torch.where(used, torch.stack([weight, grain * weight]), 1.0)
    per_grain = (largest > 0) / grain
    every = torch.cat(
        [
            *(narrow * dense, (dense * per_grain)[None]),  # 0, 1: codes in lowest bits; 2: what alignment is against
            narrow * (odd * (weight > 0)),  # 3, 4: scaled codes in lowest bits
            *(weight[None], sums, codes[:2]),  # 5: scales; 6, 7: scaled codes; 8, 9: codes
            *(sums * dense, sums * several),  # 10, 11: in sums of a block; 12, 13: in sums of blocks
            *(small, per_grain[None]),  # 14, 15, 16: reciprocals of scales, of lowest bits, scaled and not
        ]
    )
    a, b = every[:, :m].amax(1), every[:, m:].amax(1)

    unit = torch.where(used, grain * weight / odd, torch.inf)
    # A power of two that a K block moves from one side to the other changes no term.
    shift = unit[:m].amin(0, keepdim=True)
    shift = torch.where(torch.isinf(shift), 1.0, shift)
    shifts = torch.cat([shift.reciprocal().expand(m, -1), shift.expand(len(scales) - m, -1)])
    units = torch.where(several, (unit * shifts).amin(1, keepdim=True), torch.inf)
    relative = sums * (shifts / units)
    of_a, of_b = relative[:, :m], relative[:, m:]
    over_k = torch.cat([(x * y.amax(1).flip(0)[:, None]).sum(2).amax(1) for x, y in ((of_a, of_b), (of_b, of_a))])

    def either(i: int) -> Tensor:
        """Largest on one side against summed on the other, whichever is less."""
        return torch.minimum(a[i] * b[i + 1], a[i + 1] * b[i])

    aligned = torch.maximum(a[0], floors[0] * a[2]) * torch.maximum(b[0], floors[1] * b[2])
    widths = [either(0).amax(), aligned.amax(), either(3).amax(), over_k.amin()]
    magnitudes = [
        (a[5] * b[5]).amax(),
        a[6].amax(),
        b[6].amax(),
        torch.minimum(a[6] * b[9], a[7] * b[8]).amax(),
        torch.minimum(b[6] * a[9], b[7] * a[8]).amax(),
        either(10).amax(),
        either(12).sum(),
    ]
    smallest = [
        (a[14] * b[14]).amax(),
        a[15].amax(),
        b[15].amax(),
        (a[15] * b[16]).amax(),
        (b[15] * a[16]).amax(),
        (a[15] * b[15]).amax(),
        (units[:m].amin() * units[m:].amin()).reciprocal(),
    ]
    found: list[float] = torch.stack([*widths, *magnitudes, *smallest, subnormal.double()]).tolist()
    return ([], [], []) if found[-1] else (found[:4], found[4:11], found[11:18])


def _sentence(widths: list[float], magnitudes: list[float], smallest: list[float]) -> str | None:
    if not widths:
        return "a scale is subnormal"
    for reached, bits, what in (
        (widths[0], UNIT_BITS, "sums inside a K block reach {} times their smallest bit"),
        (widths[1], ALIGNED_BITS, "products inside a K block align to {} times their smallest bit"),
        (widths[2], FLOAT_BITS, "a scaled block sum reaches {} times its smallest bit"),
        (widths[3], FLOAT_BITS, "sums over K blocks reach {} times their smallest bit"),
    ):
        if reached > 2.0**bits:
            return f"{what.format(int(reached))}, above 2^{bits}"
    for name, value in zip(INTERMEDIATES, magnitudes, strict=True):
        if value >= LARGEST:
            return f"{name} reaches {value:.3g}, beyond float32"
    for name, reciprocal in zip(INTERMEDIATES, smallest, strict=True):
        if reciprocal > 1 / SMALLEST:
            return f"{name} falls to {1 / reciprocal:.3g}, below the normal numbers of float32"
    return None
