"""Packages that are not installed, as stubs: each of their functions computes from what its documentation says of the
operands, by address where the real kernel takes only addresses, and refuses any other layout."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from reference import native_w8a8_block_matmul
from reference.blocks import ceil_div

BLOCK = [128, 128]


def install(monkeypatch: pytest.MonkeyPatch, functions: Mapping[str, object]) -> None:
    """Put ``functions``, by ``module:attribute``, where an import finds them."""
    for place, function in functions.items():
        module, _, attribute = place.partition(":")
        parts = module.split(".")
        for depth in range(1, len(parts) + 1):
            name = ".".join(parts[:depth])
            if name not in sys.modules:
                made = ModuleType(name)
                made.__spec__ = ModuleSpec(name, None, is_package=True)
                made.__path__ = []
                monkeypatch.setitem(sys.modules, name, made)
        setattr(sys.modules[module], attribute, function)


def strides_are(x: Tensor, *expected: int) -> None:
    """Compare strides, those of a dimension of one element apart."""
    seen = [stride for stride, size in zip(x.stride(), x.shape, strict=True) if size > 1]
    assert seen == [stride for stride, size in zip(expected, x.shape, strict=True) if size > 1]


def by_address(x: Tensor, shape: tuple[int, int], strides: tuple[int, int]) -> Tensor:
    """What a kernel reads that is told an address alone."""
    return torch.as_strided(x, shape, strides, x.storage_offset())


def vllm_triton(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, block_size: list[int], output_dtype: torch.dtype) -> Any:
    assert A.is_contiguous()
    assert block_size == BLOCK
    return native_w8a8_block_matmul(A, B, As, Bs, block_size, output_dtype)


def vllm_cutlass(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, out_dtype: torch.dtype) -> Tensor:
    (m, k), n = a.shape, b.shape[1]
    kb, nb = ceil_div(k, 128), ceil_div(n, 128)
    assert m % 4 == 0
    assert (scale_a.shape, scale_b.shape) == ((m, kb), (kb, nb))
    codes_a, codes_b = by_address(a, (m, k), (k, 1)), by_address(b, (n, k), (k, 1))
    by_column, by_row = by_address(scale_a, (m, kb), (1, m)), by_address(scale_b, (nb, kb), (kb, 1))
    return native_w8a8_block_matmul(codes_a, codes_b, by_column, by_row, BLOCK, out_dtype)


def deep_gemm(a: tuple[Tensor, Tensor], b: tuple[Tensor, Tensor], out: Tensor) -> None:
    assert a[0].is_contiguous()
    assert b[0].is_contiguous()
    assert b[1].is_contiguous()
    strides_are(a[1], 1, ceil_div(a[0].shape[0], 4) * 4)
    out.copy_(native_w8a8_block_matmul(a[0], b[0], a[1], b[1], BLOCK, out.dtype))


def flashinfer(input: Tensor, weight: Tensor, input_scale: Tensor, weight_scale: Tensor, out_dtype: torch.dtype) -> Any:  # noqa: A002
    (m, k), n = input.shape, weight.shape[0]
    kb, nb = k // 128, ceil_div(n, 128)
    assert (input_scale.shape, weight_scale.shape) == ((m, kb), (nb, kb))
    a, b = by_address(input, (m, k), (k, 1)), by_address(weight, (n, k), (k, 1))
    by_column = by_address(input_scale, (m, kb), (1, ceil_div(m, 4) * 4))
    by_row = by_address(weight_scale, (nb, kb), (kb, 1))
    return native_w8a8_block_matmul(a, b, by_column, by_row, BLOCK, out_dtype)


def torchao(a: Tensor, a_s: Tensor, b: Tensor, b_s: Tensor, block_size: int) -> Tensor:
    assert all(x.is_contiguous() for x in (a, a_s, b, b_s))
    return native_w8a8_block_matmul(a, b, a_s, b_s, [block_size, block_size], torch.bfloat16)


def aiter_gemm(XQ: Tensor, WQ: Tensor, x_scale: Tensor, w_scale: Tensor, dtype: torch.dtype) -> Tensor:
    assert all(x.is_contiguous() for x in (XQ, WQ, x_scale, w_scale))
    return native_w8a8_block_matmul(XQ, WQ, x_scale, w_scale, BLOCK, dtype)


class Quantizer:
    """Lays out tensors; it must not be asked to quantise."""

    def __init__(self, dtype: str, *, rowwise: bool, columnwise: bool, block_scaling_dim: int) -> None:
        assert dtype == "kFloat8E4M3"
        assert rowwise
        assert not columnwise
        self.is_by_row = block_scaling_dim == 1

    def make_empty(self, shape: tuple[int, int], *, dtype: torch.dtype, device: torch.device) -> SimpleNamespace:
        rows, k = shape
        kb = ceil_div(k, 128)
        scales = (kb, ceil_div(rows, 4) * 4) if self.is_by_row else (ceil_div(rows, 128), ceil_div(kb, 4) * 4)
        return SimpleNamespace(
            is_by_row=self.is_by_row,
            _rowwise_data=torch.empty(shape, dtype=torch.uint8, device=device),
            _rowwise_scale_inv=torch.full(scales, torch.nan, device=device),
        )


def _read(x: SimpleNamespace) -> tuple[Tensor, Tensor]:
    """Codes, and one scale per row and K block."""
    assert not x._rowwise_scale_inv.isnan().any()
    rows, k = x._rowwise_data.shape
    scales = x._rowwise_scale_inv.t() if x.is_by_row else x._rowwise_scale_inv.repeat_interleave(128, 0)
    return x._rowwise_data.view(torch.float8_e4m3fn), scales[:rows, : ceil_div(k, 128)]


def general_gemm(A: Any, B: Any, *, out_dtype: torch.dtype, layout: str, use_split_accumulator: bool) -> Any:
    assert layout == "TN"
    assert use_split_accumulator
    (weights, of_weights), (activations, of_activations) = _read(A), _read(B)
    result = native_w8a8_block_matmul(activations, weights, of_activations, of_weights, [1, 128], out_dtype)
    return result, None, None, None


FP8_UTILS = "vllm.model_executor.layers.quantization.utils.fp8_utils"
ENGINE = "transformer_engine.pytorch"
PACKAGES: dict[str, dict[str, Callable[..., Any] | dict[torch.dtype, str]]] = {
    "vllm-triton": {f"{FP8_UTILS}:w8a8_triton_block_scaled_mm": vllm_triton},
    "vllm-cutlass": {"vllm._custom_ops:cutlass_scaled_mm": vllm_cutlass},
    "deep-gemm": {"deep_gemm:fp8_gemm_nt": deep_gemm},
    "flashinfer": {"flashinfer.gemm:fp8_blockscale_gemm_sm90": flashinfer},
    "transformer-engine": {
        f"{ENGINE}.cpp_extensions:general_gemm": general_gemm,
        f"{ENGINE}.tensor.float8_blockwise_tensor:Float8BlockQuantizer": Quantizer,
        f"{ENGINE}.constants:TE_DType": {torch.float8_e4m3fn: "kFloat8E4M3"},
    },
    "torchao": {"torchao.kernel.blockwise_quantization:blockwise_fp8_gemm": torchao},
    "aiter": {"aiter:gemm_a8w8_blockscale": aiter_gemm},
}
"""The functions of a package under the name of its backend."""
