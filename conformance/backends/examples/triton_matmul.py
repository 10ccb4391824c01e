"""`triton`: a block-scaled FP8 matmul in Triton, an example of a real kernel and of all that one may declare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from cases.problem import BLOCK_RECIPES
from conformance.backends.borrowed import Borrowed
from conformance.backends.limits import TRITON_FP8, Platforms
from conformance.backends.optional import Package
from reference.blocks import check_operands


class TritonMatmul(Borrowed):
    """The kernel of `conformance.backends.examples.triton_kernel`, in all three recipes, for any strides and sizes."""

    name = "triton"
    source = "conformance/backends/examples/triton_kernel.py"
    package = Package("triton", "triton", "pip install triton (torch for CUDA brings it)")
    places = (("conformance.backends.examples.triton_kernel:multiply_into",),)
    platforms: ClassVar[Platforms] = {"cuda": TRITON_FP8}
    recipes = BLOCK_RECIPES
    accepts_out = True
    capabilities: ClassVar[Mapping[str, object]] = {
        "dtypes": ("e4m3fn", "e5m2"),
        "divisible": {"n": 1, "k": 1},
        "strided_operands": True,
        "graph_capture": True,
        "determinism": True,
        "batch_invariance": True,
    }

    def apply_block_scaled_mm(
        self,
        A: Tensor,
        B: Tensor,
        As: Tensor,
        Bs: Tensor,
        *,
        out_dtype: torch.dtype,
        recipe: str = "1x128-128x128",
        out: Tensor | None = None,
    ) -> Tensor:
        """``A [M,K] @ B [N,K].T``, into ``out`` where there is one. Raises ValueError or TypeError as the reference."""
        check_operands(A, B, As, Bs, recipe=recipe)
        result = A.new_empty(A.shape[0], B.shape[0], dtype=out_dtype) if out is None else out
        self.kernel(result, A, B, As, Bs, recipe)
        return result


class TritonOnSM90(TritonMatmul):
    """The same where its arithmetic is known, and claimed: on Hopper every bit is that of SM90, K not split."""

    name = "triton-sm90"
    arithmetic = "sm90"
    platforms: ClassVar[Platforms] = {"cuda": ("sm90",)}
