"""`compiled-native`: the float32 reference as `torch.compile` makes it, on any device that has a compiler."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from conformance.backends.models import Native
from conformance.backends.padding import versions
from conformance.probe import Platform
from reference import native_w8a8_block_matmul
from reference.blocks import BLOCK, check_operands, k_blocks

if TYPE_CHECKING:
    from conformance.backends.asking import Answer

COMPILATIONS = 64
"""How often the reference may be compiled: beyond that, torch.compile raises."""


class CompiledNative(Native):
    """`native_w8a8_block_matmul`, compiled for one block of weights and called for each.

    The loops of the reference have other counts for every N and K, and a compiler would unroll each anew. Of one block,
    filled up with zeros, only M is left to vary, and two compilations (M = 1 and any other) serve all sizes.
    """

    name = "compiled-native"
    capabilities: ClassVar[Mapping[str, object]] = {**Native.capabilities, "compile": False}

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
        """The compiled reference, compiled when it is first called."""
        return torch.compile(native_w8a8_block_matmul, dynamic=True, fullgraph=True)

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = "1x128-128x128"
    ) -> Tensor:
        """``A [M,K] @ B [N,K].T`` in float32, block by block of the weights."""
        check_operands(A, B, As, Bs, recipe=recipe)
        out = torch.zeros(A.shape[0], Bs.shape[0] * BLOCK, dtype=torch.float32, device=A.device)
        if A.shape[0]:
            with _compiling():
                self._accumulate(out, A, B, As, Bs)
        return out[:, : B.shape[0]].to(out_dtype)

    def _accumulate(self, out: Tensor, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> None:
        """Add all blocks to ``out`` [M, nb * 128], those of K in order."""
        a, b, sa = _blocks(A, 1), _blocks(B, BLOCK), As.t().unsqueeze(2).contiguous()
        for i, j in product(range(As.shape[1]), range(Bs.shape[0])):
            columns = slice(j * BLOCK, (j + 1) * BLOCK)
            # Copies: of a view the compiler also guards the sizes of what it is a view of.
            operands = (x.clone() for x in (a[i], b[i, columns], sa[i], Bs[j, i].reshape(1, 1)))
            out[:, columns] += self.block(*operands, (BLOCK, BLOCK), torch.float32)


@contextmanager
def _compiling() -> Iterator[None]:
    """Operand formats and a few values of M are compiled apart; the compiler's own warnings are nobody's error."""
    with warnings.catch_warnings(), torch._dynamo.config.patch(recompile_limit=COMPILATIONS):
        warnings.simplefilter("ignore")
        yield


def _blocks(x: Tensor, multiple: int) -> Tensor:
    """FP8 ``x`` [R,K] as K blocks [kb, R, 128], with zeros appended up to whole blocks and ``multiple`` rows."""
    rows = torch.nn.functional.pad(x.view(torch.uint8), (0, 0, 0, -x.shape[0] % multiple))
    return k_blocks(rows).contiguous().view(x.dtype)
