"""How a kernel reads its operands; a fault is a reading that differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cases import Problem
from conformance.presentation import Presented
from reference import Arithmetic, Expectation, expect
from reference.blocks import BLOCK, recipe_of
from reference.tiles import scales_by_row

Store = Callable[[Tensor, torch.dtype], Tensor]


def nearest_even(result: Tensor, dtype: torch.dtype) -> Tensor:
    """The right store: float32 rounded to nearest, ties to even."""
    return result.to(dtype)


@dataclass(frozen=True)
class Reading:
    """What enters the arithmetic: codes A [M,K] and B [N,K], one scale per row ``sa`` [kb,M] and column ``sb`` [kb,N].

    ``chunks`` says which of the split-K chunks are added (None: all), ``store`` how float32 becomes the output.
    """

    A: Tensor
    B: Tensor
    sa: Tensor
    sb: Tensor
    store: Store = nearest_even
    chunks: Callable[[int], tuple[int, ...]] | None = None

    def at(self, rows: Tensor, cols: Tensor) -> Reading:
        """The reading of those rows and columns of the result alone."""
        return replace(self, A=self.A[rows], B=self.B[cols], sa=self.sa[:, rows], sb=self.sb[:, cols])

    def expected(self, arithmetic: Arithmetic | None = None) -> Expectation:
        """The exact result, and how far a kernel of ``arithmetic`` (None: any) may be away from it."""
        scales = self.sa.t(), self.sb.t()
        return expect(self.A, self.B, *scales, recipe="1x128-1x128", arithmetic=arithmetic)


@dataclass(frozen=True)
class Memory:
    """What the operands look like in memory: scales as flat floats in storage order, guard bands behind them."""

    problem: Problem
    As: Tensor
    Bs: Tensor
    flat_a: Tensor
    flat_b: Tensor

    @classmethod
    def of(cls, presented: Presented, problem: Problem) -> Memory:
        """The memory that ``presented`` operands lie in."""
        _, _, a, b = presented.bands
        flat_a, flat_b = (band.pristine[band.payload.start :].view(torch.float32) for band in (a, b))
        return cls(problem, a.view, b.view, flat_a, flat_b)

    def column_blocks(self) -> Tensor:
        """Scale row of every output column, [N]."""
        rows = recipe_of(self.problem.recipe).b_rows
        return torch.arange(self.problem.n, device=self.Bs.device) // rows

    def row_blocks(self) -> Tensor:
        """Scale row of every output row, [M]."""
        rows = recipe_of(self.problem.recipe).a_rows
        return torch.arange(self.problem.m, device=self.As.device) // rows

    def b_scales_at(self, index: Tensor) -> Tensor:
        """Floats at flat ``index`` behind the start of the B scales, guard band included."""
        return self.flat_b[index.clamp(0, self.flat_b.numel() - 1)]

    def a_scales_at(self, index: Tensor) -> Tensor:
        """Floats at flat ``index`` behind the start of the A scales, guard band included."""
        return self.flat_a[index.clamp(0, self.flat_a.numel() - 1)]


def honest(presented: Presented, problem: Problem) -> Reading:
    """The right reading."""
    A, B, As, Bs = presented.tensors
    sa, sb = scales_by_row(As, Bs, recipe_of(problem.recipe), problem.m, problem.n)
    return Reading(A, B, sa, sb)


def k_index(problem: Problem, device: torch.device) -> Tensor:
    """K block numbers as a column, [kb, 1]."""
    return torch.arange(-(-problem.k // BLOCK), device=device)[:, None]
