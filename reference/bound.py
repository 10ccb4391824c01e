"""A rigorous bound on what a right kernel may return, element by element, from the inputs alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reference.arithmetic import Arithmetic
from reference.blocks import BLOCK, DEFAULT_RECIPE, check_operands, k_blocks, recipe_of
from reference.formats import NO_EXPONENT, decode, exponents, format_of
from reference.rounding import admissible_interval
from reference.tiles import Tile, budget, lanes_first, scales_by_row, tiles
from reference.walk import SUBGROUP, BlockFacts, Order, walk_error

UNIT = 2.0**-24
UNDERFLOW = 2.0**-150
"""Half the smallest float32: what fl32(sA * sB) may lose when it underflows."""
UNDECLARED = tuple(Order(group, 13, 14, backward) for group in (16, 32) for backward in (False, True))
"""The coarsest published unit in both group sizes and from both ends; others err less."""


@dataclass(frozen=True)
class Expectation:
    """The exact result and how far a float32 result may be from it, float64 [M, N], before output rounding."""

    exact: Tensor
    error: Tensor

    def interval(self, out_dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Smallest and largest right result in ``out_dtype``, as float64."""
        return admissible_interval(self.exact, self.error, out_dtype)


def expect(
    A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, recipe: str = DEFAULT_RECIPE, arithmetic: Arithmetic | None
) -> Expectation:
    """Exact result and accumulation error for a declared ``arithmetic``, or for any published one (None).

    ``error = gamma_n * sum_b |s_b| (G_b + E_b) + sum_b |s_b| E_b``, with s_b the product of the scales, G_b the sum of
    absolute products in K block b, E_b the alignment error of `reference.walk`, gamma_n = n*u/(1 - n*u), u = 2^-24,
    n = 2*kb + 3. For an undeclared arithmetic E_b is twice the largest of four walks plus 128*u*G_b, for float32
    sums in any order (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1).
    """
    check_operands(A, B, As, Bs, recipe=recipe)
    m, n = A.shape[0], B.shape[0]
    exact = torch.empty(m, n, dtype=torch.float64, device=A.device)
    error = torch.empty_like(exact)
    operands = _Blocks.of(A, B, As, Bs, recipe)
    for tile in tiles(m, n, limit=budget(A)):
        exact[tile.rows, tile.cols], error[tile.rows, tile.cols] = operands.expect(tile, arithmetic)
    return Expectation(exact, error)


def error_bound(
    A: Tensor,
    B: Tensor,
    As: Tensor,
    Bs: Tensor,
    *,
    recipe: str = DEFAULT_RECIPE,
    arithmetic: Arithmetic | None,
    out_dtype: torch.dtype,
) -> Tensor:
    """Largest distance of a right ``out_dtype`` result from `exact_block_matmul`, float64 [M, N].

    ``arithmetic`` None means undeclared. Where the result may overflow ``out_dtype`` the distance is infinite.
    Raises ValueError or TypeError for operands that do not fit together.
    """
    expectation = expect(A, B, As, Bs, recipe=recipe, arithmetic=arithmetic)
    low, high = expectation.interval(out_dtype)
    return torch.maximum(high - expectation.exact, expectation.exact - low)


@dataclass(frozen=True)
class _Blocks:
    """Operands cut for the walk: values by K block, exponents by lane, scales by row and column."""

    a: Tensor
    b: Tensor
    sa: Tensor
    sb: Tensor
    ea: Tensor
    eb: Tensor
    lowest_bit: int

    @classmethod
    def of(cls, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, recipe: str) -> _Blocks:
        sa, sb = (s.double() for s in scales_by_row(As, Bs, recipe_of(recipe), A.shape[0], B.shape[0]))
        ea, eb = (lanes_first(exponents(x), filled=NO_EXPONENT) for x in (A, B))
        ea, eb = ea.unsqueeze(3), eb.unsqueeze(2)
        mantissas = format_of(A.dtype).mantissa_bits + format_of(B.dtype).mantissa_bits
        a, b = k_blocks(decode(A).double()), k_blocks(decode(B).double())
        return cls(a, b, sa, sb, ea, eb, -mantissas)

    def expect(self, tile: Tile, arithmetic: Arithmetic | None) -> tuple[Tensor, Tensor]:
        """Exact value and accumulation error of one tile."""
        kb = self.a.shape[0]
        n = 2 * kb + 3
        gamma = n * UNIT / (1 - n * UNIT)
        exact = torch.zeros(tile.shape, dtype=torch.float64, device=self.a.device)
        error = torch.zeros_like(exact)
        at_once = max(1, budget(self.a) // exact.numel())
        for i in range(0, kb, at_once):
            blocks = slice(i, i + at_once)
            scale = self.sa[blocks, tile.rows, None] * self.sb[blocks, None, tile.cols]
            products, gross, alignment = self._block_errors(blocks, tile, arithmetic)
            exact += (scale * products).sum(0)
            rounding = gamma * (gross + alignment) + alignment
            error += (scale.abs() * rounding + UNDERFLOW * (gross + n)).sum(0)
        return exact, error

    def _block_errors(self, blocks: slice, tile: Tile, arithmetic: Arithmetic | None) -> tuple[Tensor, Tensor, Tensor]:
        a, b = self.a[blocks, tile.rows], self.b[blocks, tile.cols].transpose(1, 2)
        gross = a.abs() @ b.abs()
        facts = self._facts(blocks, tile)
        if arithmetic is not None:
            alignment = walk_error(
                facts, Order(arithmetic.group, arithmetic.fraction_bits, arithmetic.significant_bits)
            )
        else:
            alignment = 2 * _largest([walk_error(facts, order) for order in UNDECLARED]) + BLOCK * UNIT * gross
        return facts.sums.sum(0), gross, alignment

    def _facts(self, blocks: slice, tile: Tile) -> BlockFacts:
        a, b = self.a[blocks, tile.rows], self.b[blocks, tile.cols].transpose(1, 2)
        ea, eb = self.ea[:, blocks, tile.rows], self.eb[:, blocks, :, tile.cols]
        spans = [slice(i, i + SUBGROUP) for i in range(0, BLOCK, SUBGROUP)]
        sums = torch.stack([a[:, :, s] @ b[:, s] for s in spans])
        largest = torch.stack([_largest([x + y for x, y in zip(ea[s], eb[s], strict=True)]) for s in spans])
        return BlockFacts((_zeros_high(ea), _zeros_high(eb)), self.lowest_bit, largest, sums)


def _zeros_high(exponent: Tensor) -> Tensor:
    return torch.where(exponent == NO_EXPONENT, -NO_EXPONENT, exponent)


def _largest(planes: Sequence[Tensor]) -> Tensor:
    largest = planes[0].clone()
    for plane in planes[1:]:
        torch.maximum(largest, plane, out=largest)
    return largest
