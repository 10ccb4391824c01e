"""A problem: what is multiplied, apart from the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

OUT_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
"""Output dtypes by their short name in case ids."""
BLOCK_RECIPES = ("1x128-128x128", "128x128-1x128", "1x128-1x128")
"""One scale for each K block of 128: what kernels are given that say nothing of recipes."""
WHOLE_RECIPES = ("tensorwise", "rowwise")
"""One scale for all of K."""
RECIPES = (*BLOCK_RECIPES, *WHOLE_RECIPES)
OPERAND_FORMATS = ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz")


@dataclass(frozen=True)
class Problem:
    """``A [m,k] @ B [n,k].T`` under ``recipe`` with FP8 formats ``a`` and ``b``; ``out`` is a key of `OUT_DTYPES`."""

    m: int
    n: int
    k: int
    out: str = "bf16"
    recipe: str = "1x128-128x128"
    a: str = "e4m3fn"
    b: str = "e4m3fn"

    @property
    def shape(self) -> str:
        """The shape as ids spell it, ``m83-n576-k7168``."""
        return f"m{self.m}-n{self.n}-k{self.k}"

    @property
    def operation(self) -> str:
        """Recipe, and operand formats where they are not e4m3fn on both sides, as ids spell them."""
        formats = f"{self.a}-{self.b}"
        return self.recipe if formats == "e4m3fn-e4m3fn" else f"{self.recipe}@{formats}"

    @property
    def inputs(self) -> str:
        """Everything that input bytes depend on: the problem without its output dtype."""
        return f"{self.recipe}/{self.shape}/{self.a}-{self.b}"

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return self.m * self.n * self.k

    @property
    def k_blocks(self) -> int:
        """Number of K blocks, the last one maybe ragged."""
        return -(-self.k // 128)

    @property
    def n_blocks(self) -> int:
        """Number of N blocks, the last one maybe ragged."""
        return -(-self.n // 128)

    @property
    def has_whole_scales(self) -> bool:
        """Whether one scale covers all of K, so that kernels may add up all of it at once."""
        return self.recipe in WHOLE_RECIPES

    @property
    def k_scales(self) -> int:
        """Number of scales along K: one for every K block, or one."""
        return 1 if self.has_whole_scales else self.k_blocks

    @property
    def is_aligned(self) -> bool:
        """Whether N and K are multiples of 16, which is all that kernels are generally expected to take."""
        return self.n % 16 == 0 and self.k % 16 == 0

    @property
    def a_dtype(self) -> torch.dtype:
        """Torch dtype of A."""
        return _fp8(self.a)

    @property
    def b_dtype(self) -> torch.dtype:
        """Torch dtype of B."""
        return _fp8(self.b)

    @property
    def out_dtype(self) -> torch.dtype:
        """Torch dtype of the result."""
        import torch

        dtype: torch.dtype = getattr(torch, OUT_DTYPES[self.out])
        return dtype


def _fp8(name: str) -> torch.dtype:
    from reference.formats import FORMATS

    return FORMATS[name].dtype
