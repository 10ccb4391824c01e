"""`aiter`: the block-scaled FP8 matmul of AMD's AITER."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from conformance.backends.borrowed import Borrowed
from conformance.backends.limits import E4M3, Limits
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
    limits = Limits(
        {"rocm": ("gfx942", "gfx950")}, formats=(E4M3, ("e4m3fnuz", "e4m3fnuz")), outputs=("bf16", "fp16"), lanes=128
    )

    def can_implement(self, problem: Problem) -> Answer:
        """What the limits say, and the one e4m3 that the device has: the kernel does not look at the dtype."""
        own = "e4m3fnuz" if _architecture().startswith("gfx94") else "e4m3fn"
        return super().can_implement(problem) if problem.a == own else (False, f"this device multiplies {own}.")

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """Everything row-major."""
        result: Tensor = self.kernel(A, B, As.contiguous(), Bs.contiguous(), out_dtype)
        return result


def _architecture() -> str:
    """The first AMD GPU here, empty where there is none."""
    if torch.version.hip is None or not torch.cuda.is_available():
        return ""
    return str(torch.cuda.get_device_properties(0).gcnArchName)
