"""`torch-v2`: torch.nn.functional.scaled_mm, with M and the B scales padded as it demands."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from cases.problem import RECIPES
from conformance.backends.padding import versions
from conformance.backends.raw import raw_v2
from conformance.probe import Platform

if TYPE_CHECKING:
    from cases import Problem
    from conformance.backends.asking import Answer


class TorchV2:
    """``torch.nn.functional.scaled_mm`` with the recipe told; 128x128 scales are [kb padded to 4, blocks]."""

    name = "torch-v2"
    recipes = RECIPES
    capabilities: ClassVar[dict[str, bool]] = {"determinism": True, "graph_capture": True}
    api = "v2"

    def describe(self) -> dict[str, str]:
        """Versions of torch and of the libraries under it."""
        return {"call": "torch.nn.functional.scaled_mm", **versions()}

    def is_supported(self, platform: Platform) -> Answer:
        """Block scales need Hopper or an Intel GPU."""
        if platform.kind == "xpu" or (platform.kind, platform.arch) == ("cuda", "sm90"):
            return True, None
        return False, "block-scaled scaled_mm requires CUDA with compute capability 90 (Hopper), or XPU."

    def can_implement(self, problem: Problem) -> Answer:
        """Every recipe, those of blocks for e4m3fn on both sides: v2 checks that."""
        if not problem.has_whole_scales and (problem.a, problem.b) != ("e4m3fn", "e4m3fn"):
            return False, "block scales in scaled_mm require float8_e4m3fn on both sides."
        return True, None

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = "1x128-128x128"
    ) -> Tensor:
        """``A [M,K] @ B [N,K].T``; raises whatever torch raises."""
        return raw_v2((A, B, As, Bs), out_dtype, recipe)()[: A.shape[0]]
