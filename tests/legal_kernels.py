"""Right kernels of every arithmetic and order, as functions to a float32 result: exact data must give all the same."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from reference import ARITHMETICS, decode, emulate_block_scaled_mm, native_w8a8_block_matmul

ROWS = {"1x128": 1, "128x128": 128}
UNITS = ("sm90", "sm89", "sm100", "cdna3")


def by_row(scale: Tensor, rows: int, side: str) -> Tensor:
    """Scales [rows, kb]."""
    return scale.repeat_interleave(ROWS[side], 0)[:rows]


def legal_results(
    A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, recipe: str, units: tuple[str, ...] = UNITS
) -> Iterator[tuple[str, Tensor]]:
    """What each legal kernel holds before its store, by name."""
    sides = recipe.split("-")
    sa, sb = by_row(As, A.shape[0], sides[0]), by_row(Bs, B.shape[0], sides[1])
    a, b, k = decode(A), decode(B), A.shape[1]
    for name in units:
        for split in (None, 2):
            result = emulate_block_scaled_mm(
                A, B, As, Bs, recipe=recipe, out_dtype=torch.float32, arithmetic=ARITHMETICS[name], split_k=split
            )
            yield f"{name} split {split}", result
    if recipe == "1x128-128x128":
        yield "native", native_w8a8_block_matmul(A, B, As, Bs, (128, 128), torch.float32)
    blocks = [slice(i, i + 128) for i in range(0, k, 128)]
    products = [a[:, block].flip(1) @ b[:, block].flip(1).t() for block in blocks]
    left, right = [s[:, None] for s in sa.t()], [s[None, :] for s in sb.t()]
    zero = torch.zeros(A.shape[0], B.shape[0])
    terms = list(zip(products, left, right, strict=True))
    yield "reversed", sum((p * (x * y) for p, x, y in terms[::-1]), zero)
    yield "a then b", sum((p * x * y for p, x, y in terms), zero)
    yield "b then a", sum((p * y * x for p, x, y in terms), zero)
    spread_a, spread_b = (s.repeat_interleave(128, 1)[:, :k] for s in (sa, sb))
    yield "dequantised", (a * spread_a) @ (b * spread_b).t()
    wide = (a.double() * spread_a.double()) @ (b.double() * spread_b.double()).t()
    yield "dequantised in float64", wide.float()
