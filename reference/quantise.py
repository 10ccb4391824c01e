"""Dynamic FP8 quantisers with the semantics of the serving engines, in plain PyTorch.

Source: vLLM ``per_token_group_quant_fp8`` (fp8_utils.py) as of 0.33.0; DeepSeek-V3 technical report, section 3.3.2.
"""

from __future__ import annotations

import torch
from torch import Tensor

from reference.blocks import ceil_div
from reference.formats import clamping_cast, format_of

EPS = 1e-10
"""Smallest amax: a group of zeros gets the scale ``EPS / quant_max`` and never zero."""


def _scales(amax: Tensor, dtype: torch.dtype, *, eps: float, use_ue8m0: bool) -> Tensor:
    # A tensor and not a number: CUDA multiplies by the reciprocal of a number, an ulp away from the quotient.
    limit = torch.full((), format_of(dtype).quant_max, device=amax.device)
    scale = amax.clamp(min=eps) / limit
    return round_up_to_power_of_two(scale) if use_ue8m0 else scale


def round_up_to_power_of_two(scale: Tensor) -> Tensor:
    """``2**ceil(log2(max(scale, 1e-10)))`` in float32, exact: the UE8M0 value set, stored as float32.

    What is not finite stays as it is.
    """
    mantissa, exponent = torch.frexp(scale.clamp(min=EPS))
    exponent = exponent - (mantissa == 0.5).to(exponent.dtype)
    return torch.where(scale.isfinite(), torch.ldexp(torch.ones_like(scale), exponent), scale)


def _quantise(x: Tensor, scale: Tensor, dtype: torch.dtype) -> Tensor:
    limit = format_of(dtype).quant_max
    return clamping_cast((x / scale).clamp(-limit, limit), dtype)


def _pad_last(x: Tensor, multiple: int) -> Tensor:
    return torch.nn.functional.pad(x, (0, -x.shape[-1] % multiple))


def _column_major(scales: Tensor, leading: int) -> Tensor:
    """The logical [..., M, kb] scales with strides (1, leading) in the last two dimensions."""
    rows, columns = scales.shape[-2:]
    buffer = scales.new_zeros(*scales.shape[:-2], columns, leading)
    laid_out = buffer.transpose(-1, -2)[..., :rows, :]
    laid_out.copy_(scales)
    return laid_out


def per_token_group_quant_fp8(
    x: Tensor,
    group_size: int,
    eps: float = EPS,
    dtype: torch.dtype | None = None,
    column_major_scales: bool = False,
    tma_aligned_scales: bool = False,
    use_ue8m0: bool = False,
) -> tuple[Tensor, Tensor]:
    """Quantise ``x`` [..., K] with one scale per row and ``group_size`` of K.

    Returns ``q`` [..., K] in FP8 ``dtype`` (e4m3fn unless given) and float32 ``scales`` [..., ceil(K/group_size)],
    dequantisation factors: ``x ~ q * scale``. ``scale = max(eps, amax) / quant_max``, rounded up to a power of two
    with ``use_ue8m0``. A ragged last group is quantised over its own elements (upstream asserts divisibility).
    ``column_major_scales`` gives strides (1, M); ``tma_aligned_scales`` beside it (1, M rounded up to 4).
    Raises ValueError for a ``group_size`` below 1 or TMA alignment without column-major scales.
    """
    if group_size < 1:
        raise ValueError(f"group_size must be at least 1, got {group_size}")
    if tma_aligned_scales and not column_major_scales:
        raise ValueError("tma_aligned_scales describes a column-major layout: pass column_major_scales=True with it")
    dtype = dtype or torch.float8_e4m3fn
    k = x.shape[-1]
    groups = _pad_last(x.float(), group_size).reshape(*x.shape[:-1], ceil_div(k, group_size), group_size)
    scales = _scales(groups.abs().amax(-1), dtype, eps=eps, use_ue8m0=use_ue8m0)
    q = _quantise(groups, scales.unsqueeze(-1), dtype).flatten(-2)[..., :k].contiguous()
    if column_major_scales and scales.ndim > 1:
        rows = scales.shape[-2]
        scales = _column_major(scales, ceil_div(rows, 4) * 4 if tma_aligned_scales else rows)
    return q, scales


def per_block_quant_fp8(
    w: Tensor,
    block_size: tuple[int, int] = (128, 128),
    use_ue8m0: bool = False,
    dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """Quantise a weight ``w`` [N, K] with one scale per block of ``block_size`` (rows of N, columns of K).

    Returns ``q`` [N, K] in FP8 ``dtype`` (e4m3fn unless given) and float32 ``scales`` [ceil(N/bn), ceil(K/bk)]; ragged
    blocks use their own elements.
    Raises ValueError unless ``w`` is a matrix.
    """
    if w.ndim != 2:
        raise ValueError(f"w must be a matrix [N, K], got shape {tuple(w.shape)}")
    dtype = dtype or torch.float8_e4m3fn
    (n, k), (block_n, block_k) = w.shape, block_size
    padded = torch.nn.functional.pad(w.float(), (0, -k % block_k, 0, -n % block_n))
    blocks = padded.reshape(ceil_div(n, block_n), block_n, ceil_div(k, block_k), block_k)
    scales = _scales(blocks.abs().amax((1, 3)), dtype, eps=EPS, use_ue8m0=use_ue8m0)
    q = _quantise(blocks, scales[:, None, :, None], dtype).reshape(padded.shape)[:n, :k]
    return q.contiguous(), scales


def per_tensor_quant_fp8(x: Tensor, dtype: torch.dtype | None = None) -> tuple[Tensor, Tensor]:
    """Quantise ``x`` with one scale for all of it, dynamically: ``q`` in FP8 ``dtype``, float32 ``scales`` [1, 1]."""
    dtype = dtype or torch.float8_e4m3fn
    # One zero more, so that an empty tensor has a largest element, too.
    amax = torch.nn.functional.pad(x.float().flatten().abs(), (0, 1)).amax()
    scales = _scales(amax.reshape(1, 1), dtype, eps=EPS, use_ue8m0=False)
    return _quantise(x.float(), scales, dtype), scales
