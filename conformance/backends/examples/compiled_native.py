"""`compiled-native`: the float32 reference as `torch.compile` makes it, on any device that has a compiler."""

from __future__ import annotations

import os
import shutil
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from conformance.backends.models import Native
from conformance.backends.padding import versions
from conformance.probe import Platform
from reference import native_w8a8_block_matmul
from reference.blocks import BLOCK, check_operands, k_blocks

if TYPE_CHECKING:
    from conformance.backends.protocol import Answer


class CompiledNative(Native):
    """`native_w8a8_block_matmul`, compiled for one block of weights and called for each.

    The loops of the reference have other counts for every N and K, and a compiler would unroll each anew. Of one block,
    filled up with zeros, only M is left to vary, and two compilations (M = 1 and any other) serve all sizes.
    """

    name = "compiled-native"
    capabilities: ClassVar[dict[str, bool]] = {"compile": False}

    def describe(self) -> dict[str, str]:
        """The compiler, and the versions under it."""
        return {"compiler": "torch.compile, inductor", **versions()}

    def is_supported(self, platform: Platform) -> Answer:
        """Where inductor finds what it hands its code to."""
        if platform.kind == "cpu":
            compiler = os.environ.get("CXX", "g++")
            if shutil.which(compiler) is None:
                return False, f"torch.compile needs a C++ compiler: install {compiler}, or name one in CXX."
        elif platform.kind in ("cuda", "rocm", "xpu") and find_spec("triton") is None:
            return False, "torch.compile needs triton on a GPU: pip install triton (torch for CUDA brings it)."
        return True, None

    @cached_property
    def block(self) -> Any:
        """The compiled reference."""
        return torch.compile(native_w8a8_block_matmul, dynamic=True, fullgraph=True)

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = "1x128-128x128"
    ) -> Tensor:
        """``A [M,K] @ B [N,K].T`` in float32, K block by K block."""
        check_operands(A, B, As, Bs, recipe=recipe)
        out = torch.zeros(A.shape[0], Bs.shape[0] * BLOCK, dtype=torch.float32, device=A.device)
        a, b = (k_blocks(_bytes(x, multiple)).contiguous() for x, multiple in ((A, 1), (B, BLOCK)))
        for i in range(As.shape[1] if A.shape[0] else 0):
            of_a = a[i].view(A.dtype), As[:, i : i + 1].contiguous()
            for j in range(Bs.shape[0]):
                tile = slice(j * BLOCK, (j + 1) * BLOCK)
                of_b = b[i, tile].view(B.dtype), Bs[j, i].reshape(1, 1)
                out[:, tile] += self.block(of_a[0], of_b[0], of_a[1], of_b[1], (BLOCK, BLOCK), torch.float32)
        return out[:, : B.shape[0]].to(out_dtype)


def _bytes(x: Tensor, multiple: int) -> Tensor:
    """The codes of ``x`` [R,K] as bytes, with rows of zeros appended up to a multiple of ``multiple``."""
    return torch.nn.functional.pad(x.view(torch.uint8), (0, 0, 0, -x.shape[0] % multiple))
