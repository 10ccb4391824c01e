"""`vllm-triton` and `vllm-cutlass`: the block-scaled kernels that vLLM brings itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from conformance.backends.adapters.layouts import ALIGNMENT, in_aligned_columns
from conformance.backends.borrowed import LAID_OUT, Borrowed
from conformance.backends.limits import TRITON_FP8, Pairs, Platforms, answer_for_pair
from conformance.backends.optional import Package
from reference.blocks import BLOCK

if TYPE_CHECKING:
    from cases import Problem
    from conformance.backends.asking import Answer

VLLM = Package("vllm", "vllm", "pip install vllm (it brings a torch of its own: use another environment)")
FP8_UTILS = "vllm.model_executor.layers.quantization.utils.fp8_utils"


class VllmTriton(Borrowed):
    """``w8a8_triton_block_scaled_mm(A, B, As, Bs, [128, 128], dtype)``: A contiguous, the others of any strides."""

    name = "vllm-triton"
    source = "vLLM at 007d500, fp8_utils.py; w8a8_block_fp8_matmul before"
    package = VLLM
    places = ((f"{FP8_UTILS}:w8a8_triton_block_scaled_mm", f"{FP8_UTILS}:w8a8_block_fp8_matmul"),)
    platforms: ClassVar[Platforms] = {"cuda": TRITON_FP8, "rocm": ("gfx942", "gfx950"), "xpu": ()}
    pairs: ClassVar[Pairs] = (("e4m3fn", "e4m3fn"), ("e4m3fnuz", "e4m3fnuz"))
    capabilities: ClassVar[Mapping[str, object]] = {
        **LAID_OUT,
        "dtypes": ("e4m3fn", "e4m3fnuz"),
        "divisible": {"n": 1, "k": 1},
    }

    def can_implement(self, problem: Problem) -> Answer:
        """One e4m3 on both sides."""
        return answer_for_pair(problem, self.pairs)

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """Everything as it comes."""
        result: Tensor = self.kernel(A, B, As, Bs, [BLOCK, BLOCK], out_dtype)
        return result


class VllmCutlass(Borrowed):
    """``cutlass_scaled_mm(A, B.T, scale_a=As, scale_b=Bs.T, out_dtype=dtype)``, M padded to 4.

    vLLM pads so on Hopper. The kernel takes addresses alone: As by columns without gaps, Bs by rows.

    N and K that are no multiples of 16 vLLM hands to a Triton kernel, which is another one.
    """

    name = "vllm-cutlass"
    source = "vLLM at 0002bde, _custom_ops.py; at 1051220, scaled_mm_blockwise_sm90_fp8_dispatch.cuh"
    package = VLLM
    places = (("vllm._custom_ops:cutlass_scaled_mm",),)
    platforms: ClassVar[Platforms] = {"cuda": ("sm90", "sm100", "sm120")}
    capabilities: ClassVar[Mapping[str, object]] = {
        **LAID_OUT,
        "dtypes": ("e4m3fn", "bf16", "fp16"),
        "divisible": {"n": 16, "k": 16},
    }

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """Rows of zeros, their scales one, which are cut off again."""
        m, more = A.shape[0], -A.shape[0] % ALIGNMENT
        A = torch.nn.functional.pad(A.view(torch.uint8), (0, 0, 0, more)).view(A.dtype)
        As = in_aligned_columns(torch.nn.functional.pad(As, (0, 0, 0, more), value=1.0))
        result: Tensor = self.kernel(A, B.t(), scale_a=As, scale_b=Bs.contiguous().t(), out_dtype=out_dtype)
        return result[:m]
