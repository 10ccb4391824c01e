"""`torchao`: the Triton kernel under torchao's block-wise FP8 inference.

It tunes itself for every N and K when it first meets them, which takes seconds each: choose few cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from conformance.backends.borrowed import LAID_OUT, Borrowed
from conformance.backends.limits import TRITON_FP8, Platforms
from conformance.backends.optional import Package
from reference.blocks import BLOCK


class TorchAO(Borrowed):
    """``blockwise_fp8_gemm(A, As, B, Bs, 128)``: all contiguous, the result bfloat16."""

    name = "torchao"
    source = "torchao 0.18.0, torchao/kernel/blockwise_quantization.py; moved in 0.19"
    package = Package("torchao", "torchao", "pip install torchao")
    places = (
        (
            "torchao.quantization.quantize_.workflows.float8.kernels:_blockwise_fp8_gemm",
            "torchao.kernel.blockwise_quantization:blockwise_fp8_gemm",
        ),
    )
    platforms: ClassVar[Platforms] = {"cuda": TRITON_FP8}
    capabilities: ClassVar[Mapping[str, object]] = {
        **LAID_OUT,
        "dtypes": ("e4m3fn", "bf16"),
        "divisible": {"n": 1, "k": 1},
    }

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """Each operand beside its scales. Raises NotImplementedError where a result is asked for that it never has."""
        if out_dtype != torch.bfloat16:
            raise NotImplementedError(f"the result is bfloat16, and never {out_dtype}")
        result: Tensor = self.kernel(A, As.contiguous(), B, Bs.contiguous(), BLOCK)
        return result
