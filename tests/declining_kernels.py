"""Kernels that declare what they have not, and what they do when they are asked for it all the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from reference import native_w8a8_block_matmul


class _Declining:
    recipes = ("1x128-128x128",)
    capabilities: ClassVar[Mapping[str, object]] = {}

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        return native_w8a8_block_matmul(A, B, As, Bs, (128, 128), out_dtype)


class Strict(_Declining):
    """Right: refuses whatever it declares that it has not."""

    name = "strict"
    capabilities: ClassVar[Mapping[str, object]] = {
        "dtypes": ("bf16",),
        "divisible": {"k": 128},
        "largest": {"m": 64},
        "zero_sizes": False,
    }

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        if out_dtype != torch.bfloat16 or A.shape[1] % 128 or not 0 < A.shape[0] <= 64:
            raise ValueError("no kernel for this")
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)


class DropsTails(_Declining):
    """Wrong outside of what it declares: K is cut to whole blocks, and nobody is told."""

    name = "drops-tails"
    capabilities: ClassVar[Mapping[str, object]] = {"divisible": {"k": 128}}

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        whole = A.shape[1] // 128
        lanes = slice(128 * whole)
        return native_w8a8_block_matmul(A[:, lanes], B[:, lanes], As[:, :whole], Bs[:, :whole], (128, 128), out_dtype)


class Modest(_Declining):
    """Right, and of more than it declares."""

    name = "modest"
    capabilities: ClassVar[Mapping[str, object]] = {"dtypes": ("bf16",), "strided_operands": False}


class Overwrites(_Declining):
    """Wrong: what it declares that it has not costs an operand."""

    name = "overwrites"
    capabilities: ClassVar[Mapping[str, object]] = {"dtypes": ("bf16",)}

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        if out_dtype != torch.bfloat16:
            As.zero_()
            raise ValueError("no kernel for this dtype")
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)


class Boastful(_Declining):
    """Wrong: declares strides and reads none; declares that K may be anything and cuts it."""

    name = "boastful"
    capabilities: ClassVar[Mapping[str, object]] = {"strided_operands": True, "divisible": {"k": 1}}

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        if not A.is_contiguous():
            raise ValueError("A is not contiguous")
        return DropsTails().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
