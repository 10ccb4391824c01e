"""`torch-v2`: torch.nn.functional.scaled_mm, with M and the B scales padded as it demands."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from cases.problem import RECIPES, WHOLE_RECIPES
from conformance.backends.padding import one_column, pad_columns, pad_rows, pad_scale_rows, versions
from conformance.probe import Platform

if TYPE_CHECKING:
    from cases import Problem
    from conformance.backends.protocol import Answer


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
        from torch.nn.functional import ScalingType, scaled_mm

        if recipe in WHOLE_RECIPES:
            kind = ScalingType.TensorWise if recipe == "tensorwise" else ScalingType.RowWise
            return scaled_mm(A, B.t(), one_column(As), kind, one_column(Bs).t(), kind, output_dtype=out_dtype)
        rows = A.shape[0]
        by_row, by_block = ScalingType.BlockWise1x128, ScalingType.BlockWise128x128
        a_blocked, b_blocked = (side == "128x128" for side in recipe.split("-"))
        if A.is_cuda:
            A, As = (pad_rows(A, multiple=4), As if a_blocked else pad_scale_rows(As, multiple=4))
        scale_a, scale_b = (_scale(s, blocked) for s, blocked in ((As, a_blocked), (Bs, b_blocked)))
        kinds = (by_block if a_blocked else by_row, by_block if b_blocked else by_row)
        out = scaled_mm(A, B.t(), scale_a, kinds[0], scale_b, kinds[1], output_dtype=out_dtype)
        return out[:rows]


def _scale(scale: Tensor, blocked: bool) -> Tensor:
    """A scale as v2 wants it: by row [R, kb] column-major; by block transposed, K blocks padded to 4 except on XPU."""
    if not blocked:
        return scale.t().contiguous().t()
    multiple = 1 if scale.device.type == "xpu" else 4
    return pad_columns(scale, multiple=multiple).t()
