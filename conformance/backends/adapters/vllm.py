"""`vllm-triton` and `vllm-cutlass`: the block-scaled kernels that vLLM brings itself."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.backends.adapters.layouts import ALIGNMENT, in_aligned_columns
from conformance.backends.borrowed import Borrowed
from conformance.backends.limits import E4M3, TRITON_FP8, Limits
from conformance.backends.optional import Package
from reference.blocks import BLOCK

VLLM = Package("vllm", "vllm", "pip install vllm (it brings a torch of its own: use another environment)")
FP8_UTILS = "vllm.model_executor.layers.quantization.utils.fp8_utils"


class VllmTriton(Borrowed):
    """``w8a8_triton_block_scaled_mm(A, B, As, Bs, [128, 128], dtype)``: A contiguous, the others of any strides."""

    name = "vllm-triton"
    source = "vLLM 0.33.0, fp8_utils.py; w8a8_block_fp8_matmul up to 0.10"
    package = VLLM
    places = ((f"{FP8_UTILS}:w8a8_triton_block_scaled_mm", f"{FP8_UTILS}:w8a8_block_fp8_matmul"),)
    limits = Limits(
        {"cuda": TRITON_FP8, "rocm": ("gfx942", "gfx950"), "xpu": ()}, formats=(E4M3, ("e4m3fnuz", "e4m3fnuz"))
    )

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """Everything as it comes."""
        result: Tensor = self.kernel(A, B, As, Bs, [BLOCK, BLOCK], out_dtype)
        return result


class VllmCutlass(Borrowed):
    """``cutlass_scaled_mm(A, B.T, scale_a=As, scale_b=Bs.T, out_dtype=dtype)``, M padded to 4 as vLLM does on Hopper.

    N and K that are no multiples of 16 vLLM hands to a Triton kernel, which is another one.
    """

    name = "vllm-cutlass"
    source = "vLLM 0.33.0, _custom_ops.py and csrc cutlass_w8a8/c3x/scaled_mm_helper.hpp"
    package = VLLM
    places = (("vllm._custom_ops:cutlass_scaled_mm",),)
    limits = Limits({"cuda": ("sm90", "sm100", "sm120")}, outputs=("bf16", "fp16"), columns=16, lanes=16)

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """As column-major, which the kernel takes for granted."""
        m, more = A.shape[0], -A.shape[0] % ALIGNMENT
        A = torch.nn.functional.pad(A.view(torch.uint8), (0, 0, 0, more)).view(A.dtype)
        As = in_aligned_columns(torch.nn.functional.pad(As, (0, 0, 0, more), value=1.0))
        result: Tensor = self.kernel(A, B.t(), scale_a=As, scale_b=Bs.contiguous().t(), out_dtype=out_dtype)
        return result[:m]
