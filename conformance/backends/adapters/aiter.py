"""`aiter`: the block-scaled FP8 matmul of AMD's AITER."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from conformance.backends.borrowed import LAID_OUT, Borrowed
from conformance.backends.limits import Platforms
from conformance.backends.optional import Package

if TYPE_CHECKING:
    from cases import Problem
    from conformance.backends.asking import Answer


class Aiter(Borrowed):
    """``gemm_a8w8_blockscale(A, B, As, Bs, dtype)``: all contiguous, K in whole blocks."""

    name = "aiter"
    source = "AITER of August 2026 (e404860), aiter/ops/gemm_op_a8w8.py"
    package = Package("aiter", "amd-aiter", "pip install amd-aiter (the package that is called aiter is another one)")
    places = (("aiter:gemm_a8w8_blockscale",),)
    platforms: ClassVar[Platforms] = {"rocm": ("gfx942", "gfx950")}
    capabilities: ClassVar[Mapping[str, object]] = {
        **LAID_OUT,
        "dtypes": ("e4m3fn", "e4m3fnuz", "bf16", "fp16"),
        "divisible": {"n": 1, "k": 128},
    }

    def can_implement(self, problem: Problem) -> Answer:
        """The one e4m3 that the device has, on both sides: the kernel does not look at the dtype."""
        own = "e4m3fnuz" if _architecture().startswith("gfx94") else "e4m3fn"
        return (True, None) if problem.a == problem.b == own else (False, f"this device multiplies {own}.")

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """Everything row-major."""
        result: Tensor = self.kernel(A, B, As.contiguous(), Bs.contiguous(), out_dtype)
        return result


def _architecture() -> str:
    """The first AMD GPU here, empty where there is none."""
    if torch.version.hip is None or not torch.cuda.is_available():
        return ""
    return str(torch.cuda.get_device_properties(0).gcnArchName)
