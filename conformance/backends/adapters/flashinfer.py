"""`flashinfer`: FlashInfer's block-scaled FP8 matmul on Hopper (that of TensorRT-LLM)."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.backends.adapters.layouts import in_aligned_columns
from conformance.backends.borrowed import Borrowed
from conformance.backends.limits import Limits
from conformance.backends.optional import Package


class FlashInfer(Borrowed):
    """``fp8_blockscale_gemm_sm90(A, B, As, Bs, out_dtype=bfloat16)``.

    It passes on the address of As alone, and the kernel reads columns that are aligned for TMA; Bs is contiguous.
    """

    name = "flashinfer"
    source = "FlashInfer 0.6.18, flashinfer/gemm/gemm_base.py and csrc/fp8_blockscale_gemm_sm90_binding.cu"
    package = Package("flashinfer", "flashinfer-python", "pip install flashinfer-python")
    places = (("flashinfer.gemm:fp8_blockscale_gemm_sm90",),)
    limits = Limits({"cuda": ("sm90",)}, outputs=("bf16",), columns=64, lanes=128)

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """As in aligned columns."""
        result: Tensor = self.kernel(A, B, in_aligned_columns(As), Bs.contiguous(), out_dtype=out_dtype)
        return result
