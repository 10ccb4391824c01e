"""`transformer-engine`: TransformerEngine's matmul of block-scaled tensors, which is cuBLASLt's on Hopper.

On Blackwell it rounds the scales to powers of two; it is not called there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from cases.problem import BLOCK_RECIPES
from conformance.backends.borrowed import LAID_OUT, Borrowed
from conformance.backends.limits import Pairs, Platforms, answer_for_pair
from conformance.backends.optional import Package
from reference.blocks import recipe_of

if TYPE_CHECKING:
    from cases import Problem
    from conformance.backends.asking import Answer


class TransformerEngine(Borrowed):
    """``general_gemm(B, A, out_dtype, layout="TN")`` of two tensors that a Float8BlockQuantizer has laid out.

    Codes and scales are written into them: [kb, M padded to 4] where each row has its own, [nb, kb padded to 4] for
    blocks. Nothing is quantised.
    """

    name = "transformer-engine"
    source = "TransformerEngine 2.20, pytorch/cpp_extensions/gemm.py and tensor/float8_blockwise_tensor.py"
    package = Package(
        "transformer_engine",
        "transformer-engine",
        "pip install --no-build-isolation 'transformer-engine[pytorch]>=2.10'",
    )
    places = (
        ("transformer_engine.pytorch.cpp_extensions:general_gemm",),
        ("transformer_engine.pytorch.tensor.float8_blockwise_tensor:Float8BlockQuantizer",),
        ("transformer_engine.pytorch.constants:TE_DType",),
    )
    platforms: ClassVar[Platforms] = {"cuda": ("sm90",)}
    pairs: ClassVar[Pairs] = (("e4m3fn", "e4m3fn"), ("e4m3fn", "e5m2"), ("e5m2", "e4m3fn"))
    capabilities: ClassVar[Mapping[str, object]] = {
        **LAID_OUT,
        "dtypes": ("e4m3fn", "e5m2"),
        "divisible": {"m": 4, "n": 16, "k": 16},
    }
    recipes = BLOCK_RECIPES

    def can_implement(self, problem: Problem) -> Answer:
        """Not e5m2 on both sides."""
        return answer_for_pair(problem, self.pairs)

    def multiply(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype, recipe: str) -> Tensor:
        """The weights come first there."""
        rule = recipe_of(recipe)
        of_a, of_b = self._laid(A, As, by_row=rule.a_rows == 1), self._laid(B, Bs, by_row=rule.b_rows == 1)
        result: Tensor = self.kernel(of_b, of_a, out_dtype=out_dtype, layout="TN", use_split_accumulator=True)[0]
        return result

    def _laid(self, codes: Tensor, scales: Tensor, *, by_row: bool) -> Any:
        """``codes`` [R,K] and ``scales`` as a tensor of the package."""
        quantizer, dtypes = (function.load() for function in self.functions[1:])
        made = quantizer(
            dtypes[codes.dtype], rowwise=True, columnwise=False, block_scaling_dim=1 if by_row else 2
        ).make_empty(tuple(codes.shape), dtype=torch.bfloat16, device=codes.device)
        made._rowwise_data.copy_(codes.view(torch.uint8))
        given = scales.t() if by_row else scales
        made._rowwise_scale_inv.zero_()[: given.shape[0], : given.shape[1]] = given
        return made
