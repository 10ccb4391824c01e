"""`reference-linear`: the reference put to the test from end to end. The exact product judges it, not itself."""

from __future__ import annotations

import torch
from torch import Tensor

from reference import native_w8a8_block_matmul, per_token_group_quant_fp8
from reference.blocks import BLOCK


class ReferenceLinear:
    """The reference's quantiser and product, the bias added after the cast, as vLLM's kernels add it."""

    name = "reference-linear"
    is_model = True

    def describe(self) -> dict[str, str]:
        """What it is made of."""
        return {"model": "per_token_group_quant_fp8 and native_w8a8_block_matmul, bias after the cast"}

    def linear(
        self,
        x: Tensor,
        weight: Tensor,
        weight_scale: Tensor,
        bias: Tensor | None = None,
        out_dtype: torch.dtype = torch.bfloat16,
    ) -> Tensor:
        """``x [.., K] @ weight [N, K].T + bias``, [.., N] in ``out_dtype``."""
        codes, scales = per_token_group_quant_fp8(x, BLOCK, dtype=weight.dtype)
        out = native_w8a8_block_matmul(codes, weight, scales, weight_scale, (BLOCK, BLOCK), out_dtype)
        return out if bias is None else out + bias
