"""`torch-v2`: torch.nn.functional.scaled_mm, with M and the B scales padded as it demands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from conformance.backends.padding import pad_columns, pad_rows, versions
from conformance.probe import Platform

if TYPE_CHECKING:
    from cases import Problem
    from conformance.backends.protocol import Answer


class TorchV2:
    """``torch.nn.functional.scaled_mm`` with the recipe told; B scales are [nb, kb padded to 4], transposed."""

    name = "torch-v2"
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
        """The one recipe that this backend lays scales out for."""
        if problem.recipe != "1x128-128x128":
            return False, "lays scales out for 1x128 activations and 128x128 weights only."
        return True, None

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = "1x128-128x128"
    ) -> Tensor:
        """``A [M,K] @ B [N,K].T``; raises whatever torch raises."""
        from torch.nn.functional import ScalingType, scaled_mm

        rows = A.shape[0]
        if A.is_cuda:
            A, As = pad_rows(A, As, multiple=4)
        scale_b = Bs if A.device.type == "xpu" else pad_columns(Bs, multiple=4)
        out = scaled_mm(
            A,
            B.t(),
            As,
            ScalingType.BlockWise1x128,
            scale_b.t(),
            ScalingType.BlockWise128x128,
            output_dtype=out_dtype,
        )
        return out[:rows]
