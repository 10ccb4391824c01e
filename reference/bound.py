"""A rigorous bound on what a right kernel may return, element by element, from the inputs alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from reference.arithmetic import Arithmetic
from reference.blocks import BLOCK, DEFAULT_RECIPE, block_recipe_of, check_operands, k_blocks, recipe_of
from reference.formats import NO_EXPONENT, decode, exponents, format_of
from reference.rounding import admissible_interval
from reference.tiles import Tile, budget, lanes_first, scales_by_row, tiles
from reference.walk import SUBGROUP, BlockFacts, Order, Walked, walk, walk_error

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

    Where one scale covers all of K (`Recipe.is_whole`), a kernel may scale first or last and add up without a break:
    ``error = |s| (gamma_n * (G + E) + E)``, with G over all of K, n = K + 3, and E twice the largest of four walks
    through all of K. docs/arithmetic.md derives both. Raises ValueError or TypeError for operands that do not fit
    together, and ValueError for an ``arithmetic`` beside such a recipe: it says nothing of sums without K blocks.
    """
    check_operands(A, B, As, Bs, recipe=recipe)
    if arithmetic is not None:
        block_recipe_of(recipe)
    whole = recipe_of(recipe).is_whole
    m, n = A.shape[0], B.shape[0]
    exact = torch.empty(m, n, dtype=torch.float64, device=A.device)
    error = torch.empty_like(exact)
    operands = _Blocks.of(A, B, As, Bs, recipe)
    for tile in tiles(m, n, limit=budget(A)):
        found = operands.expect_whole(tile, A.shape[1]) if whole else operands.expect(tile, arithmetic)
        exact[tile.rows, tile.cols], error[tile.rows, tile.cols] = found
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

    def expect_whole(self, tile: Tile, k: int) -> tuple[Tensor, Tensor]:
        """Exact value and accumulation error of one tile where one scale covers all ``k`` lanes."""
        n = k + 3
        gamma = n * UNIT / (1 - n * UNIT)
        of_a, of_b = self.sa[0, tile.rows, None], self.sb[0, None, tile.cols]
        codes_a, codes_b = self.a[:, tile.rows].abs(), self.b[:, tile.cols].abs()
        gross = torch.zeros(tile.shape, dtype=torch.float64, device=self.a.device)
        for a, b in zip(codes_a, codes_b, strict=True):
            gross += a @ b.t()
        total, walked = self._walk_through(tile)
        alignment = 2 * walked
        error = (of_a * of_b).abs() * (gamma * (gross + alignment) + alignment)
        # Codes that are scaled first, and a sum that one scale is applied to before the other, may underflow.
        scaled = of_a.abs() * (1 + codes_a.sum((0, 2))[:, None]) + of_b.abs() * (1 + codes_b.sum((0, 2))[None, :])
        return of_a * of_b * total, error + UNDERFLOW * (gross + n + scaled)

    def _walk_through(self, tile: Tile) -> tuple[Tensor, Tensor]:
        """The exact sum over all K blocks, and the largest error of the `UNDECLARED` walks that never stop."""
        ends: dict[Order, Walked | None] = dict.fromkeys(UNDECLARED)
        blocks = range(self.a.shape[0])
        for backward in (False, True):
            for i in blocks[::-1] if backward else blocks:
                facts = self._facts(slice(i, i + 1), tile)
                ends.update({order: walk(facts, order, ends[order]) for order in ends if order.backward == backward})
        walked = [end for end in ends.values() if end is not None]
        return walked[0].total[0], _largest([end.error[0] for end in walked])

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
