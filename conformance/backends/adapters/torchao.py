"""`torchao`: the Triton kernel under torchao's block-wise FP8 inference.

It tunes itself for every N and K when it first meets them, which takes seconds each: choose few cases.
"""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.backends.borrowed import Borrowed
from conformance.backends.limits import TRITON_FP8, Limits
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
    limits = Limits({"cuda": TRITON_FP8}, outputs=("bf16",))

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """Each operand beside its scales."""
        result: Tensor = self.kernel(A, As.contiguous(), B, Bs.contiguous(), BLOCK)
        return result
