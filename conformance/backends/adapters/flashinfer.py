"""`flashinfer`: FlashInfer's block-scaled FP8 matmul on Hopper (that of TensorRT-LLM)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from conformance.backends.adapters.layouts import in_aligned_columns
from conformance.backends.borrowed import LAID_OUT, Borrowed
from conformance.backends.limits import Platforms
from conformance.backends.optional import Package


class FlashInfer(Borrowed):
    """``fp8_blockscale_gemm_sm90(A, B, As, Bs, out_dtype=bfloat16)``.

    It passes on the address of As alone, and the kernel reads columns that are aligned for TMA; Bs is contiguous.
    """

    name = "flashinfer"
    source = "FlashInfer 0.6.18, flashinfer/gemm/gemm_base.py and csrc/fp8_blockscale_gemm_sm90_binding.cu"
    package = Package("flashinfer", "flashinfer-python", "pip install flashinfer-python")
    places = (("flashinfer.gemm:fp8_blockscale_gemm_sm90",),)
    platforms: ClassVar[Platforms] = {"cuda": ("sm90",)}
    capabilities: ClassVar[Mapping[str, object]] = {
        **LAID_OUT,
        "dtypes": ("e4m3fn", "bf16"),
        "divisible": {"n": 64, "k": 128},
    }

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """As in aligned columns."""
        result: Tensor = self.kernel(A, B, in_aligned_columns(As), Bs.contiguous(), out_dtype=out_dtype)
        return result
