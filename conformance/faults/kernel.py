"""One honest block-scaled matmul in pure torch, cut at its seams, and the records of what is seeded into them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

import torch
from torch import Tensor

from reference.blocks import BLOCK, DEFAULT_RECIPE, ceil_div, check_operands

OUT_DTYPES = (torch.bfloat16, torch.float16, torch.float32)
Family = Literal[
    "scale index and layout",
    "scale format",
    "arithmetic and rounding",
    "special values",
    "tile edges",
    "K tails and split-K",
    "unwritten or overwritten memory",
    "input mutation",
    "output aliasing",
    "caching and stale state",
    "races",
    "platform and contract",
    "overflow and limits",
]
Needs = Literal["", "cuda", "compile"]
FOLKLORE = "folklore"
"""The source of a fault that many have met and no single public report stands for."""


@dataclass(frozen=True)
class Call:
    """The arguments of one call: A [M,K], B [N,K], As [M,kb], Bs [nb,kb] and the dtype of the result."""

    A: Tensor
    B: Tensor
    As: Tensor
    Bs: Tensor
    out_dtype: torch.dtype

    @property
    def m(self) -> int:
        """Rows of the result."""
        return self.A.shape[0]

    @property
    def n(self) -> int:
        """Columns of the result."""
        return self.B.shape[0]

    @property
    def k(self) -> int:
        """Length of the contracted axis."""
        return self.A.shape[1]

    @property
    def kb(self) -> int:
        """K blocks, a ragged last one included."""
        return ceil_div(self.k, BLOCK)

    @property
    def nb(self) -> int:
        """N blocks, a ragged last one included."""
        return ceil_div(self.n, BLOCK)

    def rows(self) -> Tensor:
        """Row numbers, int64 [M]."""
        return torch.arange(self.m, device=self.A.device)

    def columns(self) -> Tensor:
        """Column numbers, int64 [N]."""
        return torch.arange(self.n, device=self.A.device)

    def zeros(self) -> Tensor:
        """An accumulator, float32 [M, N]."""
        return torch.zeros(self.m, self.n, dtype=torch.float32, device=self.A.device)

    def unwritten(self) -> Tensor:
        """A result whose memory holds whatever it held before."""
        return torch.empty(self.m, self.n, dtype=self.out_dtype, device=self.A.device)


class Step(NamedTuple):
    """One turn of the main loop: the lanes of K that it multiplies and the K block whose scales it applies."""

    block: int
    lanes: slice


class Kernel:
    """The honest kernel: a float32 loop over K blocks. Every method below `apply_block_scaled_mm` is a seam."""

    name = "block-loop"

    def can_implement(self, problem: Any) -> tuple[bool, str | None]:
        """Whether the recipe of ``problem`` is the one that this kernel knows."""
        if problem.recipe == DEFAULT_RECIPE:
            return True, None
        return False, f"Only recipe {DEFAULT_RECIPE} is implemented."

    def apply_block_scaled_mm(
        self,
        A: Tensor,
        B: Tensor,
        As: Tensor,
        Bs: Tensor,
        *,
        out_dtype: torch.dtype,
        recipe: str = DEFAULT_RECIPE,
    ) -> Tensor:
        """``A [M,K] @ B [N,K].T`` with block scales, [M, N] in ``out_dtype``."""
        call = Call(A, B, As, Bs, out_dtype)
        self.check(call, recipe)
        return self.run(call)

    def check(self, call: Call, recipe: str) -> None:
        """Refuse what cannot be computed: NotImplementedError, ValueError or TypeError with a sentence."""
        if recipe != DEFAULT_RECIPE:
            raise NotImplementedError(f"recipe {recipe!r} is not implemented: only {DEFAULT_RECIPE} is")
        if call.out_dtype not in OUT_DTYPES:
            raise NotImplementedError(f"out_dtype {call.out_dtype} is not implemented: ask for a 16 or 32 bit float")
        check_operands(call.A, call.B, call.As, call.Bs, recipe=recipe)

    def run(self, call: Call) -> Tensor:
        """The whole call."""
        return self.store(call, self.total(call))

    def total(self, call: Call) -> Tensor:
        """The accumulator after the main loop, float32 [M, N]."""
        a, b = self.read_a(call), self.read_b(call)
        by_row, by_column = self.row_scales(call), self.column_scales(call)
        total = call.zeros()
        for step in self.steps(call):
            product = self.product(call, a[:, step.lanes], b[:, step.lanes], step)
            term = self.scaled(product, by_row[:, step.block], by_column[:, step.block])
            total = self.add(total, term, step)
        return total

    def decode(self, x: Tensor) -> Tensor:
        """FP8 codes as float32."""
        return x.to(torch.float32)

    def read_a(self, call: Call) -> Tensor:
        """A decoded, float32 [M, K]."""
        return self.decode(call.A)

    def read_b(self, call: Call) -> Tensor:
        """B decoded, float32 [N, K]."""
        return self.decode(call.B)

    def row_scales(self, call: Call) -> Tensor:
        """One scale per row of the result and K block, float32 [M, kb]."""
        return call.As

    def column_block(self, call: Call) -> Tensor:
        """Which row of Bs each column of the result takes, int64 [N]."""
        return call.columns() // BLOCK

    def column_scales(self, call: Call) -> Tensor:
        """One scale per column of the result and K block, float32 [N, kb]."""
        return call.Bs[self.column_block(call)]

    def steps(self, call: Call) -> list[Step]:
        """The turns of the main loop, in order."""
        return [Step(i, slice(i * BLOCK, min((i + 1) * BLOCK, call.k))) for i in range(call.kb)]

    def product(self, call: Call, a: Tensor, b: Tensor, step: Step) -> Tensor:
        """The partial product of one step, unscaled, float32 [M, N]."""
        return a @ b.t()

    def scaled(self, product: Tensor, row: Tensor, column: Tensor) -> Tensor:
        """``product`` times the scales of its rows [M] and columns [N], which are multiplied first."""
        return product * (row[:, None] * column[None, :])

    def add(self, total: Tensor, term: Tensor, step: Step) -> Tensor:
        """The accumulator with one scaled partial product added."""
        return total + term

    def store(self, call: Call, total: Tensor) -> Tensor:
        """The accumulator as the result."""
        return total.to(call.out_dtype)


K = TypeVar("K", bound=type[Kernel])


@dataclass(frozen=True)
class Variant:
    """A right kernel that differs legally from the block loop.

    One that ``keeps_arithmetic`` differs in no bit, whatever the arithmetic of the seams below it.
    """

    name: str
    what: str
    build: type[Kernel]
    keeps_arithmetic: bool = False


@dataclass(frozen=True)
class Fault:
    """One seeded fault: ``what`` says the mechanism, ``source`` the public report that it is modelled on.

    ``build`` makes a fresh backend, without the state of any other. ``needs`` names what it takes to show itself:
    a CUDA device, or a call from within ``torch.compile``; without it the backend is right.
    """

    name: str
    family: Family
    source: str
    what: str
    build: type[Kernel]
    needs: Needs = ""


FAULTS: dict[str, Fault] = {}
HONEST: dict[str, Variant] = {}


def fault(name: str, *, family: Family, source: str, what: str, needs: Needs = "") -> Callable[[K], K]:
    """Register a kernel with one seam replaced as the seeded fault ``name``."""

    def register(kernel: K) -> K:
        kernel.name = name
        FAULTS[name] = Fault(name, family, source, what, kernel, needs)
        return kernel

    return register


def honest(name: str, *, what: str, keeps_arithmetic: bool = False) -> Callable[[K], K]:
    """Register a right kernel as the variant ``name``."""

    def register(kernel: K) -> K:
        kernel.name = name
        HONEST[name] = Variant(name, what, kernel, keeps_arithmetic)
        return kernel

    return register
