"""The tests of serving engines: vLLM, SGLang, LMDeploy."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from cases.stream import Stream
from conformance.peers.inputs import (
    FULL,
    codes,
    column_major,
    dequantised_product,
    normal,
    quantised,
    row_major,
    uniform,
    unit,
)
from conformance.peers.metrics import calc_diff_below, mean_relative_below, within
from conformance.peers.record import Sample, Shape, peer
from reference import native_w8a8_block_matmul, per_token_group_quant_fp8
from reference.blocks import BLOCK, ceil_div

VLLM = "vllm-project/vllm tests/kernels/quantization/test_block_fp8.py"
BLOCKS = (BLOCK, BLOCK)


@peer(
    "vLLM, Triton",
    source=VLLM,
    what="Uniform codes, independent scales in [0, 0.01); block loop in float32; mean relative difference below 1e-3.",
    small=(83, 576, 3884),
    large=(4096, 7168, 16384),
    accepts=mean_relative_below(1e-3),
)
def _vllm_triton(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    kb, nb = ceil_div(k, BLOCK), ceil_div(n, BLOCK)
    a, b = codes(FULL * uniform(stream.child("a"), m, k)), codes(FULL * uniform(stream.child("b"), n, k))
    sa, sb = 1e-2 * unit(stream.child("sa"), m, kb), 1e-2 * unit(stream.child("sb"), nb, kb)
    yield Sample(a, b, sa, sb, native_w8a8_block_matmul(a, b, sa, sb, BLOCKS, torch.bfloat16))


def _half_quantised(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    a, sa = per_token_group_quant_fp8(FULL * uniform(stream.child("a"), m, k), BLOCK, column_major_scales=True)
    b = codes(FULL * uniform(stream.child("b"), n, k))
    sb = 1e-2 * unit(stream.child("sb"), ceil_div(n, BLOCK), ceil_div(k, BLOCK))
    yield Sample(a, b, sa, sb, native_w8a8_block_matmul(a, b, sa, sb, BLOCKS, torch.bfloat16))


HALF = (
    "Uniform A quantised, uniform codes of B with scales in [0, 0.01); block loop; mean relative difference below 1e-3."
)
peer(
    "vLLM, CUTLASS",
    source=VLLM,
    what=HALF,
    small=(32, 576, 7168),
    large=(32, 576, 7168),
    accepts=mean_relative_below(1e-3),
)(_half_quantised)
peer(
    "vLLM, torch",
    source=VLLM,
    what=HALF,
    small=(83, 576, 7168),
    large=(83, 576, 7168),
    accepts=mean_relative_below(1e-3),
)(_half_quantised)


@peer(
    "vLLM, DeepGEMM",
    source=VLLM,
    what="Uniform +-448 quantised to UE8M0 scales; block loop in float32; mean relative difference below 1e-3.",
    small=(83, 576, 4096),
    large=(4096, 7168, 16384),
    accepts=mean_relative_below(1e-3),
    uncertain="Whether scales are UE8M0 on Hopper depends on a setting; they are here.",
)
def _vllm_deep_gemm(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    a, b = FULL * uniform(stream.child("a"), m, k), FULL * uniform(stream.child("b"), n, k)
    qa, qb, sa, sb = quantised(a, b, ue8m0=True)
    expected = native_w8a8_block_matmul(qa, qb, sa, sb, BLOCKS, torch.bfloat16)
    yield Sample(qa, qb, column_major(sa, 4), sb, expected)


@peer(
    "vLLM, FlashInfer",
    source=VLLM,
    what="Uniform +-448 in bfloat16, quantised; block loop; mean relative difference in bfloat16 below 1e-3.",
    small=(83, 576, 4096),
    large=(4096, 7168, 16384),
    accepts=lambda out, sample: (
        float((out.bfloat16() - sample.reference).abs().mean() / sample.reference.abs().mean()) < 1e-3
    ),
    uncertain="Random bfloat16 has 8 bits here as on CPUs. The kernel quantises A itself there.",
)
def _vllm_flashinfer(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    a, b = (
        ((stream.child(x).below(256, rows, k) / 256).bfloat16() - 0.5) * 2 * FULL for x, rows in (("a", m), ("b", n))
    )
    qa, qb, sa, sb = quantised(a, b)
    yield Sample(qa, qb, sa, sb, native_w8a8_block_matmul(qa, qb, sa, sb, BLOCKS, torch.bfloat16))


@peer(
    "SGLang",
    source="sgl-project/sglang sgl-kernel/tests/test_fp8_blockwise_gemm.py",
    what="Uniform codes, scales 1e-3 * normal, of both signs; dequantised float32 matmul; rtol 0.02, atol 1.",
    small=(128, 512, 1024),
    large=(4096, 4096, 16384),
    accepts=within(0.02, 1.0),
)
def _sglang(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    a, b = codes(FULL * uniform(stream.child("a"), m, k)), codes(FULL * uniform(stream.child("b"), n, k))
    sa = column_major(1e-3 * normal(stream.child("sa"), m, k // BLOCK))
    sb = row_major(1e-3 * normal(stream.child("sb"), ceil_div(n, BLOCK), k // BLOCK))
    product = dequantised_product(a, b, sa, sb)
    for dtype in (torch.bfloat16, torch.float16):
        yield Sample(a, b, sa, sb, product.to(dtype), dtype)


@peer(
    "LMDeploy",
    source="InternLM/lmdeploy tests/pytorch/kernel/test_blocked_fp8_gemm_gluon.py",
    what="Normal times log-spaced factors over K (A, B) and N, quantised; dequantised matmul; calc_diff below 1e-3, "
    "result prefilled with NaN, 5 or 10 calls that agree to the bit.",
    small=(37, 192, 1152),
    large=(1280, 4096, 1152),
    accepts=lambda out, sample: bool(out.isfinite().all()) and calc_diff_below(1e-3)(out, sample),
    prefill=torch.nan,
    uncertain="The large M depends on the GPU: 1280 is that of 132 SMs.",
)
def _lmdeploy(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    by_k = torch.logspace(-1, 1, k // BLOCK, device=stream.device).repeat_interleave(BLOCK)
    by_n = torch.logspace(-0.5, 0.5, ceil_div(n, BLOCK), device=stream.device).repeat_interleave(BLOCK)[:n]
    a, b = normal(stream.child("a"), m, k).bfloat16() * by_k, normal(stream.child("b"), n, k).bfloat16()
    qa, qb, sa, sb = quantised(a.bfloat16(), (b * by_n[:, None] * by_k).bfloat16())
    expected = dequantised_product(qa, qb, sa, sb).bfloat16()
    yield Sample(qa, qb, column_major(sa, 4), sb, expected, repeats=5 if m < BLOCK else 10)
