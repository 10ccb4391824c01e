"""The tests of kernel libraries: DeepGEMM, FlashInfer, CUTLASS, aiter."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from cases.stream import Stream
from conformance.peers.inputs import (
    codes,
    column_major,
    dequantised_product,
    normal,
    quantised,
    row_major,
    uniform,
    unit,
)
from conformance.peers.metrics import calc_diff_below, cosine, relatively_equal, within
from conformance.peers.record import Sample, Shape, peer
from reference import native_w8a8_block_matmul
from reference.blocks import BLOCK, ceil_div

EXAMPLE_67 = "NVIDIA/cutlass examples/67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling"


@peer(
    "DeepGEMM",
    source="deepseek-ai/DeepGEMM tests/test_fp8.py, tests/generators.py",
    what="Normal bfloat16, quantised; matmul of the unquantised; calc_diff below 1e-3.",
    small=(128, 576, 7168),
    large=(4096, 7168, 16384),
    accepts=calc_diff_below(1e-3),
)
def _deep_gemm(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    a, b = normal(stream.child("a"), m, k).bfloat16(), normal(stream.child("b"), n, k).bfloat16()
    yield Sample(*quantised(a, b), (a.float() @ b.float().t()).bfloat16())


def _cosine_above(out: Tensor, sample: Sample) -> bool:
    return out.dtype == sample.out_dtype and cosine(out, sample.reference) > 0.99


@peer(
    "FlashInfer, SM90",
    source="flashinfer-ai/flashinfer tests/gemm/test_fp8_blockscale_gemm.py",
    what="Normal bfloat16, quantised by the kernel; bfloat16 matmul of the unquantised; cosine above 0.99.",
    small=(32, 512, 1024),
    large=(128, 4096, 4096),
    accepts=_cosine_above,
    uncertain="The kernel quantises both operands itself there: 1x128 and 128x128 blocks are taken here.",
)
def _flashinfer_sm90(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    a, b = normal(stream.child("a"), m, k).bfloat16(), normal(stream.child("b"), n, k).bfloat16()
    yield Sample(*quantised(a, b), (a.float() @ b.float().t()).bfloat16())


@peer(
    "FlashInfer, group-wise",
    source="flashinfer-ai/flashinfer tests/gemm/test_groupwise_scaled_gemm_fp8.py",
    what="Normal A and B / sqrt(K), quantised to UE8M0 scales of either major; dequantised matmul; rtol = atol = 0.01.",
    small=(128, 256, 512),
    large=(8192, 8192, 8192),
    accepts=within(1e-2, 1e-2),
)
def _flashinfer_group_wise(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    a, b, sa, sb = quantised(normal(stream.child("a"), m, k), normal(stream.child("b"), n, k) / k**0.5, ue8m0=True)
    expected = dequantised_product(a, b, sa, sb).bfloat16()
    yield Sample(a, b, sa, sb, expected)
    yield Sample(a, b, column_major(sa), column_major(sb), expected)


def _equal_in_e4m3(out: Tensor, sample: Sample) -> bool:
    return torch.equal(codes(out).float(), codes(sample.reference).float())


@peer(
    "CUTLASS, unit",
    source="NVIDIA/cutlass test/unit/gemm/device/sm90_gemm_f8_f8_f8_tensor_op_f32_blockwise.cu",
    what="Integers -2 .. 2 as data and as scales (a fifth of them zero), three majors; float32 loop; equal in e4m3.",
    small=(1040, 1040, 640),
    large=(1040, 1040, 640),
    accepts=_equal_in_e4m3,
    uncertain="The kernel stores e4m3 there; here it stores float32, and the result is rounded to e4m3. "
    "The file is not in every checkout: its description is second-hand.",
)
def _cutlass_unit(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    kb, nb = ceil_div(k, BLOCK), ceil_div(n, BLOCK)
    drawn = [("a", m, k), ("b", n, k), ("sa", m, kb), ("sb", nb, kb)]
    a, b, sa, sb = ((stream.child(name).below(5, *size) - 2).float() for name, *size in drawn)
    a, b = codes(a), codes(b)
    expected = native_w8a8_block_matmul(a, b, sa, sb, (BLOCK, BLOCK), torch.float32)
    for lay_a, lay_b in ((column_major, row_major), (column_major, column_major), (row_major, row_major)):
        yield Sample(a, b, lay_a(sa), lay_b(sb), expected, torch.float32)


def _relatively_equal_after_relu(out: Tensor, sample: Sample) -> bool:
    return relatively_equal(out.relu(), sample.reference.relu(), epsilon=0.02, floor=1.0)


@peer(
    "CUTLASS, example 67",
    source=EXAMPLE_67,
    what="Uniform data in +-2 and scales in +-1; float32 loop; relatively equal (0.02, floor 1), after a ReLU.",
    small=(1024, 512, 1024),
    large=(2816, 3072, 16384),
    accepts=_relatively_equal_after_relu,
    uncertain="As of August 2026, when it stores float32. The auxiliary result, which it also compares, is left out.",
)
def _cutlass_example(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    a, b = codes(2 * uniform(stream.child("a"), m, k)), codes(2 * uniform(stream.child("b"), n, k))
    sa = column_major(uniform(stream.child("sa"), m, ceil_div(k, BLOCK)))
    sb = column_major(uniform(stream.child("sb"), ceil_div(n, BLOCK), ceil_div(k, BLOCK)))
    expected = native_w8a8_block_matmul(a, b, sa, sb, (BLOCK, BLOCK), torch.float32)
    yield Sample(a, b, sa, sb, expected, torch.float32)


@peer(
    "aiter",
    source="ROCm/aiter op_tests/triton_tests/gemm/basic/test_gemm_a8w8_blockscale.py",
    what="Uniform data in [0, 0.1) and scales in [0, 1); float32 matmul of the dequantised; rtol = atol = 0.01.",
    small=(512, 512, 320),
    large=(8192, 8192, 8192),
    accepts=within(1e-2, 1e-2),
    uncertain="Written for AMD GPUs. The relative limit is taken of the result there.",
)
def _aiter(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    kb, nb = ceil_div(k, BLOCK), ceil_div(n, BLOCK)
    a, b = codes(unit(stream.child("a"), m, k).half() / 10), codes(unit(stream.child("b"), n, k).half() / 10)
    sa, sb = unit(stream.child("sa"), m, kb), unit(stream.child("sb"), nb, kb)
    yield Sample(a, b, sa, sb, dequantised_product(a, b, sa, sb).bfloat16())
