"""The reference put to the test: `emulated-sm90`, the bit model, and `native`, the float32 loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from cases.problem import BLOCK_RECIPES
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
    """`native_w8a8_block_matmul` as a backend: one scale for each row of A and each block of B, of any sizes."""

    name = "native"
    is_model = True
    recipes = BLOCK_RECIPES[:1]
    capabilities: ClassVar[Mapping[str, object]] = {"divisible": {"n": 1, "k": 1}}

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = "1x128-128x128"
    ) -> Tensor:
        """``A [M,K] @ B [N,K].T`` as a float32 loop over K and N tiles."""
        check_operands(A, B, As, Bs, recipe=recipe)
        return native_w8a8_block_matmul(A, B, As, Bs, (BLOCK, BLOCK), out_dtype)
