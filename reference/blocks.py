"""Block geometry: recipes, block counts, and operands cut into K blocks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from reference.formats import format_of

BLOCK = 128
"""Width of a K block, and of an M or N block where scales are 128x128."""


def ceil_div(a: int, b: int) -> int:
    """Smallest integer not below ``a / b``."""
    return -(-a // b)


@dataclass(frozen=True)
class Recipe:
    """How many rows of A, and rows (output columns) of B, share one scale in each K block."""

    name: str
    a_rows: int
    b_rows: int

    def a_scale_shape(self, m: int, k: int) -> tuple[int, int]:
        """Shape of As: [M, kb] for 1x128, [mb, kb] for 128x128."""
        return ceil_div(m, self.a_rows), ceil_div(k, BLOCK)

    def b_scale_shape(self, n: int, k: int) -> tuple[int, int]:
        """Shape of Bs: [nb, kb] for 128x128, [N, kb] for 1x128."""
        return ceil_div(n, self.b_rows), ceil_div(k, BLOCK)


RECIPES = {
    r.name: r for r in (Recipe("1x128-128x128", 1, 128), Recipe("128x128-1x128", 128, 1), Recipe("1x128-1x128", 1, 1))
}
DEFAULT_RECIPE = "1x128-128x128"


def recipe_of(name: str) -> Recipe:
    """The `Recipe` called ``name``. Raises ValueError that lists the valid names."""
    if name not in RECIPES:
        raise ValueError(f"unknown recipe {name!r}; choose one of {', '.join(RECIPES)}")
    return RECIPES[name]


def check_operands(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, recipe: str) -> None:
    """Raise ValueError or TypeError unless A [M,K], B [N,K] and their scales fit together under ``recipe``."""
    rule = recipe_of(recipe)
    for name, operand in (("A", A), ("B", B)):
        format_of(operand.dtype)
        if operand.ndim != 2:
            raise ValueError(f"{name} must be a matrix, got shape {tuple(operand.shape)}")
    if A.shape[1] != B.shape[1]:
        raise ValueError(f"A is [M,K] and B is [N,K]: their K differ, {A.shape[1]} and {B.shape[1]}")
    m, n, k = A.shape[0], B.shape[0], A.shape[1]
    for name, scale, shape in (("As", As, rule.a_scale_shape(m, k)), ("Bs", Bs, rule.b_scale_shape(n, k))):
        if tuple(scale.shape) != shape:
            raise ValueError(f"{name} must have shape {shape} for {recipe}, got {tuple(scale.shape)}")
        if scale.dtype != torch.float32:
            raise TypeError(f"{name} must be float32, got {scale.dtype}")


def pad_k(x: Tensor, multiple: int = BLOCK, *, filled: int = 0) -> Tensor:
    """``x`` [R,K] with columns of ``filled`` appended up to a multiple of ``multiple``."""
    missing = -x.shape[1] % multiple
    return torch.nn.functional.pad(x, (0, missing), value=filled) if missing else x


def k_blocks(x: Tensor, width: int = BLOCK, *, filled: int = 0) -> Tensor:
    """``x`` [R,K] as blocks [blocks, R, width], the ragged last one ``filled`` up."""
    x = pad_k(x, width, filled=filled)
    return x.reshape(x.shape[0], x.shape[1] // width, width).transpose(0, 1)


def scale_rows(scale: Tensor, rows: int, per_scale: int) -> Tensor:
    """Scales [blocks, kb] spread to one per row, [kb, rows]: row r takes the scale of block ``r // per_scale``."""
    index = torch.arange(rows, device=scale.device) // per_scale
    return scale[index].transpose(0, 1)
