"""`deep-gemm`: DeepGEMM's dense FP8 matmul on Hopper.

On Blackwell it takes scales that are powers of two alone, so that other ones are rounded; it is not called there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from conformance.backends.adapters.layouts import in_aligned_columns
from conformance.backends.borrowed import LAID_OUT, Borrowed
from conformance.backends.limits import Platforms
from conformance.backends.optional import Package


class DeepGemm(Borrowed):
    """``fp8_gemm_nt((A, As), (B, Bs), out)``: As column-major and aligned for TMA, Bs contiguous, out bfloat16.

    N and K in the multiples that every release takes, and outside which vLLM does not ask it either.
    """

    name = "deep-gemm"
    source = "DeepGEMM 2.6.1, csrc/apis/gemm.hpp and layout.hpp; gemm_fp8_fp8_bf16_nt before 2.0"
    package = Package(
        "deep_gemm", "deep_gemm", "pip install --no-build-isolation git+https://github.com/deepseek-ai/DeepGEMM"
    )
    places = (("deep_gemm:fp8_gemm_nt", "deep_gemm:gemm_fp8_fp8_bf16_nt"),)
    platforms: ClassVar[Platforms] = {"cuda": ("sm90",)}
    capabilities: ClassVar[Mapping[str, object]] = {
        **LAID_OUT,
        "dtypes": ("e4m3fn", "bf16"),
        "divisible": {"n": 64, "k": 128},
    }

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """Into a result of ours."""
        out = A.new_empty(A.shape[0], B.shape[0], dtype=out_dtype)
        self.kernel((A, in_aligned_columns(As)), (B, Bs.contiguous()), out)
        return out
