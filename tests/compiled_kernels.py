"""Kernels that are right when called eagerly, and something else under torch.compile."""

from __future__ import annotations

from typing import ClassVar

import torch
from kernels import Reversed
from stateful_kernels import exact_blocks
from torch import Tensor


class WrongCompiled(Reversed):
    name = "wrong-compiled"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        scales = Bs * 2 if torch.compiler.is_compiling() else Bs
        return super().apply_block_scaled_mm(A, B, As, scales, out_dtype=out_dtype)


class KeepsScalesCompiled(Reversed):
    """Compiled, it takes the scales of its first call for those of all."""

    name = "keeps-scales-compiled"

    def __init__(self) -> None:
        self.kept: Tensor | None = None

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        if torch.compiler.is_compiling():
            if self.kept is None:
                self.kept = Bs.clone()
            Bs = self.kept
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)


class OtherOrderCompiled:
    """Right: compiled, the K blocks are added the other way."""

    name = "other-order-compiled"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        blocks = exact_blocks(A, B, As, Bs)[:: -1 if torch.compiler.is_compiling() else 1]
        return sum(blocks, torch.zeros(())).to(out_dtype)


@torch.library.custom_op("compiled_kernels::copied", mutates_args=())
def _copied(x: Tensor) -> Tensor:
    return x.clone()


@_copied.register_fake
def _(x: Tensor) -> Tensor:
    raise TypeError("no shape while compiling")


class RefusesCompiled(Reversed):
    """Right, eagerly; an operator of its own cannot be traced."""

    name = "refuses-compiled"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        return super().apply_block_scaled_mm(A, B, _copied(As), Bs, out_dtype=out_dtype)


class OwesCompiled(RefusesCompiled):
    name = "owes-compiled"
    capabilities: ClassVar[dict[str, bool]] = {"compile": True}


class ComputesCompiledOnly(Reversed):
    name = "computes-compiled-only"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        if not torch.compiler.is_compiling():
            raise NotImplementedError("eager is not implemented")
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)


class RefusesInOtherWords(Reversed):
    name = "refuses-in-other-words"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        if not torch.compiler.is_compiling():
            raise NotImplementedError("no tile for this shape")
        return super().apply_block_scaled_mm(A, B, _copied(As), Bs, out_dtype=out_dtype)


class OwesOneRefusal(RefusesInOtherWords):
    name = "owes-one-refusal"
    capabilities: ClassVar[dict[str, bool]] = {"compile": True}
