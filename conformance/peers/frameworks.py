"""The tests of frameworks: PyTorch, torchao, TransformerEngine."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from cases.stream import Stream
from conformance.peers.inputs import (
    FULL,
    Quantised,
    codes,
    column_major,
    dequantised_product,
    normal,
    quantised,
    row_major,
    uniform,
)
from conformance.peers.metrics import close, cosine, equal_but_for_nan, sqnr
from conformance.peers.record import Sample, Shape, peer
from reference.blocks import BLOCK, k_blocks

PYTORCH_LIMITS = {torch.bfloat16: (7e-2, 6e-1), torch.float32: (2e-3, 7e-1)}
"""rtol and atol by dtype of the result."""
EDITED = 4.0


def _pytorch_accepts(out: Tensor, sample: Sample) -> bool:
    assert sample.unquantised is not None
    rtol, atol = PYTORCH_LIMITS[sample.out_dtype]
    alike = cosine(out, sample.reference) >= 0.999 and cosine(out, sample.unquantised) >= 0.999
    return alike and close(out, sample.reference, rtol=rtol, atol=atol)


def _pytorch_data(shape: Shape, stream: Stream) -> Iterator[tuple[Tensor, Tensor, Quantised]]:
    """The six contents that the test lists: unquantised A and B, and what they are quantised to."""
    m, n, k = shape
    device = stream.device
    ones = torch.ones(m, k, device=device), torch.ones(n, k, device=device)
    unscaled = torch.ones(m, k // BLOCK, device=device), torch.ones(n // BLOCK, k // BLOCK, device=device)
    if m == n == k:
        yield torch.eye(m, device=device), torch.eye(m, device=device), quantised(*(torch.eye(m, device=device),) * 2)
    yield *ones, quantised(*ones)
    yield *ones, (codes(ones[0]), codes(ones[1]), *unscaled)
    a, b, sa, sb = (x.clone() for x in (*ones, *unscaled))
    a[0, :BLOCK], b[-BLOCK:, -BLOCK:] = EDITED, EDITED
    sa[0, 0] = sb[-1, -1] = 1 / EDITED
    yield *ones, (codes(a), codes(b), sa, sb)
    bytes_a, bytes_b = (stream.child(x).below(255, rows, k).float() for x, rows in (("bytes-a", m), ("bytes-b", n)))
    yield bytes_a, bytes_b, (codes(bytes_a), codes(bytes_b), *unscaled)
    a, b = normal(stream.child("a"), m, k), normal(stream.child("b"), n, k) * 1e-3
    yield a, b, quantised(a, b)


@peer(
    "PyTorch",
    source="pytorch/pytorch test/test_scaled_matmul_cuda.py, test_scaled_mm_block_wise_numerics",
    what="Identity, ones (also with two scales edited), integers, normal; dequantised float32 matmul; cosine 0.999 "
    "with it and with the unquantised product, atol 0.6 rtol 0.07 (bfloat16) or atol 0.7 rtol 0.002 (float32).",
    small=(256, 768, 512),
    large=(512, 512, 512),
    accepts=_pytorch_accepts,
    uncertain="Scales are quotients here and reciprocals of quotients there: up to an ulp apart.",
)
def _pytorch(shape: Shape, stream: Stream) -> Iterator[Sample]:
    for x, y, (a, b, sa, sb) in _pytorch_data(shape, stream):
        product, laid_out = dequantised_product(a, b, sa, sb), (column_major(sa), row_major(sb, 4))
        for dtype in PYTORCH_LIMITS:
            yield Sample(a, b, *laid_out, product.to(dtype), dtype, unquantised=x @ y.t())


@peer(
    "torchao",
    source="pytorch/ao test/prototype/blockwise_fp8_training/test_blockwise_kernels.py",
    what="Normal bfloat16, quantised; bfloat16 matmul of the unquantised; SQNR at least 28 dB, no NaN.",
    small=(2, 5120, 1280),
    large=(13, 8704, 8576),
    accepts=lambda out, sample: not bool(out.isnan().any()) and sqnr(out, sample.reference) >= 28,
    uncertain="The scales of A are taken to lie column-major, those of B row-major.",
)
def _torchao(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    a, b = normal(stream.child("a"), m, k).bfloat16(), normal(stream.child("b"), n, k).bfloat16()
    qa, qb, sa, sb = quantised(a, b)
    yield Sample(qa, qb, column_major(sa), sb, (a.float() @ b.float().t()).bfloat16())


def _power_of_two(amax: Tensor) -> Tensor:
    """The smallest power of two that is no smaller than ``amax / 448``; 1 for zero."""
    mantissa, exponent = torch.frexp(amax / FULL)
    scale = torch.ldexp(torch.ones_like(amax), exponent - (mantissa == 0.5).to(exponent.dtype))
    return torch.where(amax == 0, torch.ones_like(amax), scale)


def _quantised_by_powers_of_two(x: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """``x`` [R,K] with a power of two per ``rows`` and 128 of K, however small its values; ragged blocks allowed."""
    by_row = k_blocks(x).abs().amax(-1).t()
    padded = torch.nn.functional.pad(by_row, (0, 0, 0, -x.shape[0] % rows))
    scales = _power_of_two(padded.reshape(-1, rows, padded.shape[1]).amax(1))
    spread = scales.repeat_interleave(rows, 0)[: x.shape[0]].repeat_interleave(BLOCK, 1)[:, : x.shape[1]]
    return codes(x / spread), scales


VARIED = (320, 336, 256)


@peer(
    "TransformerEngine",
    source="NVIDIA/TransformerEngine tests/pytorch/test_float8_blockwise_gemm_exact.py",
    what="Normal and uniform of magnitudes 1e-28, 1 and 1e3, quantised to powers of two; partial products of the same "
    "unit, added in the order of cuBLAS; zero tolerance, NaN taken for zero.",
    small=VARIED,
    large=(1024, 1024, 4096),
    accepts=equal_but_for_nan,
    uncertain="e5m2, bias, GELU and accumulation are left out. The partial products are those of the honest kernel.",
)
def _transformer_engine(shape: Shape, stream: Stream) -> Iterator[Sample]:
    m, n, k = shape
    for draw in (normal, uniform) if shape == VARIED else (normal,):
        a, b = draw(stream.child(f"{draw.__name__}-a"), m, k), draw(stream.child(f"{draw.__name__}-b"), n, k)
        for magnitude in (1e-28, 1.0, 1e3) if shape == VARIED else (1.0,):
            (qa, sa), (qb, sb) = _quantised_by_powers_of_two(a * magnitude, 1), _quantised_by_powers_of_two(b, BLOCK)
            for dtype in (torch.bfloat16, torch.float32):
                yield Sample(qa, qb, column_major(sa, 4), row_major(sb, 4), None, dtype)
