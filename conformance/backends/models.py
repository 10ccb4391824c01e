"""The reference put to the test: `emulated-sm90`, the bit model, and `native`, the float32 loop."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from reference import SM90, emulate_block_scaled_mm, native_w8a8_block_matmul
from reference.blocks import BLOCK, check_operands


class EmulatedSM90:
    """SM90 as the bit model computes it, on any device. Exact families and the declared bound judge it, not itself."""

    name = "emulated-sm90"
    is_model = True
    arithmetic = SM90
    capabilities: ClassVar[dict[str, bool]] = {"compile": False}

    def describe(self) -> dict[str, str]:
        """Where the model comes from."""
        return {"model": SM90.source}

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = "1x128-128x128"
    ) -> Tensor:
        """``A [M,K] @ B [N,K].T`` to the last bit, without split-K."""
        return emulate_block_scaled_mm(A, B, As, Bs, recipe=recipe, out_dtype=out_dtype)


class Native:
    """`native_w8a8_block_matmul` as a backend."""

    name = "native"
    is_model = True

    def can_implement(self, problem: object) -> tuple[bool, str | None]:
        """The reference has one scale per row of A and one per block of B."""
        if getattr(problem, "recipe", None) != "1x128-128x128":
            return False, "the reference defines 1x128 activations and 128x128 weights only."
        return True, None

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = "1x128-128x128"
    ) -> Tensor:
        """``A [M,K] @ B [N,K].T`` as a float32 loop over K and N tiles."""
        check_operands(A, B, As, Bs, recipe=recipe)
        return native_w8a8_block_matmul(A, B, As, Bs, (BLOCK, BLOCK), out_dtype)
