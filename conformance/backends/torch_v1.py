"""`torch-v1`: exactly the calls of the upstream kernel BlockWiseTorchFP8ScaledMMLinearKernel, and those of torch's
own tensor-wise and row-wise scaling, for which upstream has other kernels.

Source: vLLM 0.33.0, model_executor/kernels/linear/scaled_mm/pytorch.py (vllm-project/vllm#49932).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from cases.problem import RECIPES
from conformance.backends.padding import versions
from conformance.backends.raw import raw_v1
from conformance.probe import Platform

if TYPE_CHECKING:
    from cases import Problem
    from conformance.backends.asking import Answer


class TorchV1:
    """``torch._scaled_mm`` as upstream calls it: M padded to 4 on CUDA, scales column-major, B scales unpadded."""

    name = "torch-v1"
    recipes = RECIPES
    capabilities: ClassVar[dict[str, bool]] = {"determinism": True, "graph_capture": True}
    api = "v1"

    def describe(self) -> dict[str, str]:
        """Versions of torch and of the libraries under it."""
        return {"call": "torch._scaled_mm", **versions()}

    def is_supported(self, platform: Platform) -> Answer:
        """Upstream's answer, which looks at the device alone and at no version."""
        if platform.kind not in ("cuda", "rocm", "xpu"):
            return False, "requires CUDA, ROCm or XPU."
        if platform.kind == "cuda" and platform.arch != "sm90":
            return False, (
                "DeepSeek-style (1x128, 128x128) block scaling on CUDA requires compute capability 90 (Hopper)."
            )
        return True, None

    def can_implement(self, problem: Problem) -> Answer:
        """Upstream's answer, which looks at the quantisation alone and at no shape.

        Where one scale covers all of K nobody asks this kernel of upstream's: whatever torch has is torch's own word.
        """
        if problem.has_whole_scales:
            return True, None
        activations, weights = problem.recipe.split("-")
        if activations != "1x128":
            return False, "requires 1x128 activation quantization."
        if weights != "128x128":
            return False, "requires 128x128 block weight quantization."
        return True, None

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = "1x128-128x128"
    ) -> Tensor:
        """``A [M,K] @ B [N,K].T``; raises whatever torch raises."""
        return raw_v1((A, B, As, Bs), out_dtype, recipe)()[: A.shape[0]]
