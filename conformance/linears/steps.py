"""A linear taken apart into its steps, so that a fault, or another right way, replaces one of them."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.quantising.steps import Steps
from reference import native_w8a8_block_matmul
from reference.blocks import BLOCK


class LinearSteps:
    """Quantise x, multiply, add the bias, cast; step by step as vLLM's kernels have it, or with one replaced."""

    quantiser: type[Steps] = Steps

    def linear(
        self, x: Tensor, weight: Tensor, weight_scale: Tensor, bias: Tensor | None, out_dtype: torch.dtype
    ) -> Tensor:
        """[.., N] in ``out_dtype`` for x [.., K], the weight [N, K] in FP8 with scales [nb, kb], and a bias [N]."""
        flat = self.flattened(x)
        codes, scales = self.quantised(flat, weight.dtype)
        product = self.product(codes, weight, scales, weight_scale)
        out = self.finished(product, bias, out_dtype)
        return self.unflattened(out, (*x.shape[:-1], weight.shape[0]))

    def flattened(self, x: Tensor) -> Tensor:
        """All rows of x, [M, K]."""
        return x.reshape(-1, x.shape[-1])

    def quantised(self, x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Codes and scales of x."""
        return self.quantiser().quantise(x, 1, BLOCK, dtype, False)

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        """The product in float32."""
        return native_w8a8_block_matmul(A, B, As, Bs, (BLOCK, BLOCK), torch.float32)

    def finished(self, product: Tensor, bias: Tensor | None, out_dtype: torch.dtype) -> Tensor:
        """The bias added, cast before it as upstream does."""
        out = self.cast(product, out_dtype)
        return out if bias is None else out + bias

    def cast(self, x: Tensor, out_dtype: torch.dtype) -> Tensor:
        """Rounded to nearest."""
        return x.to(out_dtype)

    def unflattened(self, out: Tensor, shape: tuple[int, ...]) -> Tensor:
        """The result in the dimensions of x."""
        return out.reshape(shape)
