"""Seeded kernels once more, as kernels of a declared arithmetic: the seams below a fault compute as SM90 does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec

import torch
from torch import Tensor

from conformance.faults.block_sums import sum_of_blocks
from conformance.faults.kernel import FAULTS, HONEST, Call, Kernel, Step
from reference import SM90, clamping_cast
from reference.rounding import round_to_odd_sum


class SM90Kernel(Kernel):
    """The honest kernel with the arithmetic of SM90: one dot product per K block, one fused promotion."""

    name = "sm90-loop"
    arithmetic = SM90

    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        """The dot products of SM90; a fault that decodes otherwise is cast back to FP8 codes."""
        return sum_of_blocks(clamping_cast(a, call.A.dtype), clamping_cast(b, call.B.dtype))

    def scaled(self, product: Tensor, row: Tensor, column: Tensor) -> Tensor:
        """``product`` times the float32 product of the scales, exact in float64."""
        return product.double() * (row[:, None] * column[None, :]).double()

    def add(self, total: Tensor, term: Tensor, step: Step) -> Tensor:
        """The accumulator with one exact term added: one rounding to float32, as in a fused multiply-add."""
        add = promotion() if total.is_cuda and total.numel() >= WORTH_COMPILING else _promoted
        return add(total, term)


WORTH_COMPILING = 1 << 22
"""Elements from which a promotion is compiled on a GPU: in eager mode it reads and writes them twenty times."""


@cache
def promotion() -> Callable[[Tensor, Tensor], Tensor]:
    """One promotion as one kernel, where this machine can compile it."""
    return torch.compile(_promoted, dynamic=True) if find_spec("triton") else _promoted


def _promoted(total: Tensor, term: Tensor) -> Tensor:
    return round_to_odd_sum(total.double(), term.double()).float()


@cache
def declared(name: str) -> type[Kernel]:
    """The seeded fault or right kernel called ``name``, declaring SM90 and computing so wherever it is not changed."""
    seeded = (FAULTS.get(name) or HONEST[name]).build
    bases = (SM90Kernel,) if seeded is Kernel else (seeded, SM90Kernel)
    return type(seeded.__name__, bases, {})
