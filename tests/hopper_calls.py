"""Torch's two APIs as they are on Hopper, in plain Python on any machine: the same checks in the same order.

After ScaledBlas.cpp (`_scaled_mm_out_cuda`, `_scaled_mm_cuda_v2_out`) and what was measured on an H200.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import ScalingType

from reference import exact_block_matmul

BLOCKS = (ScalingType.BlockWise1x128, ScalingType.BlockWise128x128)
CUBLAS = "CUDA error: CUBLAS_STATUS_{} when calling `{}( ltHandle, ... )`"


def check(holds: object, error: type[Exception], text: str) -> None:
    if not holds:
        raise error(text)


def blocks(size: int) -> int:
    return -(-size // 128)


class Hopper:
    """Both APIs; tests derive wrong ones from it."""

    def v1(
        self,
        a: Tensor,
        b: Tensor,
        *,
        scale_a: Tensor,
        scale_b: Tensor,
        out_dtype: torch.dtype | None = None,
        bias: Tensor | None = None,
        use_fast_accum: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        (m, k), n = a.shape, b.shape[1]
        check(
            k == b.shape[0], RuntimeError, f"mat1 and mat2 shapes cannot be multiplied ({m}x{k} and {b.shape[0]}x{n})"
        )
        kb, nb = blocks(k), blocks(n)
        shapes = (tuple(scale_a.shape), scale_a.stride(), tuple(scale_b.shape), scale_b.stride())
        fits = shapes == ((m, kb), (1, m), (kb, nb), (1, kb)) and {scale_a.dtype, scale_b.dtype} == {torch.float32}
        check(fits and m, RuntimeError, "Invalid scaling configuration.\n- For TensorWise scaling, ...")
        dtype = out_dtype or a.dtype
        self.bias_size(RuntimeError, bias, n)
        self.multiples(RuntimeError, m, n, k)
        check(out is None or out.dtype == dtype, RuntimeError, "out_dtype must match output matrix type")
        self.dtypes(RuntimeError, a, b, bias, dtype)
        result = self.gemm(a, b, scale_a, scale_b, dtype, bias, use_fast_accum)
        return result if out is None else out.copy_(result)

    def v2(
        self,
        a: Tensor,
        b: Tensor,
        scale_a: Tensor,
        recipe_a: Any,
        scale_b: Tensor,
        recipe_b: Any,
        swizzle_a: Any = None,
        swizzle_b: Any = None,
        bias: Tensor | None = None,
        output_dtype: torch.dtype | None = torch.bfloat16,
        contraction_dim: tuple[int, ...] = (),
        use_fast_accum: bool = False,
    ) -> Tensor:
        (m, k), n = a.shape, b.shape[1]
        one, other = contraction_dim or (1, 0)
        check(a.shape[one] == b.shape[other], ValueError, f"mat_a and mat_b shapes cannot be multiplied ({m}x{k} and")
        self.bias_size(ValueError, bias, n)
        dtype = output_dtype or a.dtype
        if 0 in (m, n, k):
            return torch.zeros(m, n, dtype=dtype)
        self.multiples(ValueError, m, n, k)
        self.dtypes(ValueError, a, b, bias, dtype)
        known = {a.dtype, b.dtype} == {torch.float8_e4m3fn} and {scale_a.dtype, scale_b.dtype} == {torch.float32}
        check(known and (recipe_a, recipe_b) == BLOCKS, ValueError, "Invalid scaling configuration.\n- For TensorWise")
        self.scales(m, n, k, scale_a, scale_b)
        return self.gemm(a, b, scale_a, scale_b[: blocks(k)], dtype, bias, use_fast_accum)

    def scales(self, m: int, n: int, k: int, scale_a: Tensor, scale_b: Tensor) -> None:
        padded = -(-blocks(k) // 4) * 4
        check(scale_a.stride() == (1, m), ValueError, f"scale_a must have strides (1, {m}); got {scale_a.stride()}")
        fits = tuple(scale_b.shape) == (padded, blocks(n))
        check(fits, ValueError, f"scale_b must have shape {padded} x {blocks(n)} Float elements, got {scale_b.shape}")

    def bias_size(self, error: type[Exception], bias: Tensor | None, n: int) -> None:
        size = n if bias is None else bias.numel()
        check(size == n, error, f"Bias must be size {n} but got {size}")

    def multiples(self, error: type[Exception], m: int, n: int, k: int) -> None:
        said = f"Expected trailing dimension of mat1 to be divisible by 16 but got mat1 shape: ({m}x{k})."
        check(k % 16 == 0, error, said)
        check(n % 16 == 0, error, f"mat2 shape ({k}x{n}) must be divisible by 16")

    def dtypes(self, error: type[Exception], a: Tensor, b: Tensor, bias: Tensor | None, dtype: torch.dtype) -> None:
        both = {a.dtype, b.dtype} == {torch.float8_e5m2}
        check(not both, ValueError, "Multiplication of two Float8_e5m2 matrices is not supported")
        if bias is not None:
            known = (torch.bfloat16, torch.float16)
            check(dtype != torch.float32, error, "Bias is not supported when out_dtype is set to Float32")
            check(bias.dtype in known, error, f"Bias must be BFloat16 or Half, but got {bias.dtype}")
            check(bias.dtype == dtype, error, f"Bias must be BFloat16 to compute {dtype} output, but got {bias.dtype}")

    def gemm(
        self,
        a: Tensor,
        b: Tensor,
        scale_a: Tensor,
        scale_b: Tensor,
        dtype: torch.dtype,
        bias: Tensor | None,
        fast: bool,
    ) -> Tensor:
        said = "Only multiplication of row-major and column-major matrices is supported by cuBLASLt"
        check(a.stride(1) == 1 == b.stride(0), RuntimeError, said)
        check(not fast, RuntimeError, "scaled_gemm doesn't support fast accum with 128x128 blockwise scaling")
        known = (torch.bfloat16, torch.float16, torch.float32)
        heuristic = "cublasLtMatmulAlgoGetHeuristic"
        check(dtype in known, RuntimeError, CUBLAS.format("INVALID_VALUE", heuristic))
        check(a.shape[0] % 4 == 0, RuntimeError, CUBLAS.format("NOT_SUPPORTED", heuristic))
        check(a.data_ptr() % 16 == 0, RuntimeError, CUBLAS.format("NOT_SUPPORTED", "cublasLtMatmul"))
        return self.product(a, b, scale_a, scale_b, bias).to(dtype)

    def product(self, a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None) -> Tensor:
        exact = exact_block_matmul(a.contiguous(), b.t().contiguous(), scale_a, scale_b.t(), recipe="1x128-128x128")
        return (exact if bias is None else exact + bias.double()).float()
