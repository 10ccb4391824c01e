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


WHOLE = 1 << 40
"""More rows or lanes than any operand has: one scale for all of them."""


@dataclass(frozen=True)
class Recipe:
    """How many rows of A, rows (output columns) of B, and lanes of K share one scale; `WHOLE` for all there are."""

    name: str
    a_rows: int
    b_rows: int
    lanes: int = BLOCK

    @property
    def is_whole(self) -> bool:
        """Whether one scale covers all of K, so that kernels may sum K without a break."""
        return self.lanes == WHOLE

    def a_scale_shape(self, m: int, k: int) -> tuple[int, int]:
        """Shape of As: [M, kb] for 1x128, [mb, kb] for 128x128, [M, 1] for rows, [1, 1] for a whole tensor."""
        return _scales(m, self.a_rows), _scales(k, self.lanes)

    def b_scale_shape(self, n: int, k: int) -> tuple[int, int]:
        """Shape of Bs: [nb, kb] for 128x128, [N, kb] for 1x128, [N, 1] for rows, [1, 1] for a whole tensor."""
        return _scales(n, self.b_rows), _scales(k, self.lanes)


def _scales(size: int, per_scale: int) -> int:
    """How many scales ``size`` rows or lanes have; a whole tensor has its one even where it is empty."""
    return 1 if per_scale == WHOLE else ceil_div(size, per_scale)


RECIPES = {
    r.name: r
    for r in (
        Recipe("1x128-128x128", 1, 128),
        Recipe("128x128-1x128", 128, 1),
        Recipe("1x128-1x128", 1, 1),
        Recipe("tensorwise", WHOLE, WHOLE, WHOLE),
        Recipe("rowwise", 1, 1, WHOLE),
    )
}
DEFAULT_RECIPE = "1x128-128x128"


def recipe_of(name: str) -> Recipe:
    """The `Recipe` called ``name``. Raises ValueError that lists the valid names."""
    if name not in RECIPES:
        raise ValueError(f"unknown recipe {name!r}; choose one of {', '.join(RECIPES)}")
    return RECIPES[name]


def block_recipe_of(name: str) -> Recipe:
    """The `Recipe` called ``name``, of K blocks. Raises ValueError where one scale covers all of K.

    An arithmetic promotes each K block to float32 for the sake of its scales; without these nobody says that it does.
    """
    recipe = recipe_of(name)
    if recipe.is_whole:
        raise ValueError(f"{name} has no K blocks, which the arithmetics that are known promote one by one")
    return recipe


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


def by_row(scale: Tensor, rows: int, per_scale: int) -> Tensor:
    """Scales [blocks, kb] spread to one per row, [rows, kb]: row r takes the scale of block ``r // per_scale``."""
    return scale[torch.arange(rows, device=scale.device) // per_scale]


def scale_rows(scale: Tensor, rows: int, per_scale: int) -> Tensor:
    """`by_row` transposed, [kb, rows]."""
    return by_row(scale, rows, per_scale).transpose(0, 1)
