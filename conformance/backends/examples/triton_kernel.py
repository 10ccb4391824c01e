"""A block-scaled FP8 matmul in Triton: the kernel of the backend `triton`. Importing it needs the package triton.

Every K block is one `tl.dot` from zero, which keeps the few bits of the tensor core's accumulator for 128 products
only, and is then promoted: multiplied by its two scales and added in float32. Tiles have at least 64 rows, so that
Hopper takes its warp-group instructions for every M, and a row has the same bits in any batch.

No autotuner chooses among the configurations: what it measures differs from run to run, and bits may follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from reference.blocks import BLOCK, Recipe, ceil_div, recipe_of


@dataclass(frozen=True)
class Configuration:
    """Rows and columns of the result that one program computes, and what it takes for that."""

    rows: int
    columns: int
    warps: int
    stages: int


FEW_ROWS = Configuration(64, 64, warps=4, stages=4)
"""For decoding: narrow tiles, so that one row of tiles still occupies most of the device."""
MANY_ROWS = Configuration(128, 128, warps=8, stages=3)
TILES_AT_ONCE = 8
"""Rows of tiles that neighbouring programs share, so that what they load is still in the cache."""
K_BLOCK = tl.constexpr(BLOCK)


def configuration_for(m: int) -> Configuration:
    """The configuration for ``m`` rows: from M alone, which serving changes from call to call."""
    return FEW_ROWS if m <= FEW_ROWS.rows else MANY_ROWS


# What every batch changes, or is of no use to the loads and stores, is not worth a compilation.
@triton.jit(do_not_specialize=["m", "stride_sam", "stride_sak", "stride_sbn", "stride_sbk"])
def _block_scaled_mm(
    a: tl.tensor,
    b: tl.tensor,
    scale_a: tl.tensor,
    scale_b: tl.tensor,
    out: tl.tensor,
    m: tl.tensor,
    n: tl.tensor,
    k: tl.tensor,
    stride_am: tl.tensor,
    stride_ak: tl.tensor,
    stride_bn: tl.tensor,
    stride_bk: tl.tensor,
    stride_sam: tl.tensor,
    stride_sak: tl.tensor,
    stride_sbn: tl.tensor,
    stride_sbk: tl.tensor,
    stride_om: tl.tensor,
    stride_on: tl.tensor,
    A_ROWS: tl.constexpr,
    B_ROWS: tl.constexpr,
    SCALES_FIRST: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    AT_ONCE: tl.constexpr,
) -> None:
    """One tile of out [M,N]; ``A_ROWS`` rows of a [M,K] share a scale, and ``B_ROWS`` of b [N,K]."""
    tiles_m, tiles_n = tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS)
    band = tl.program_id(0) // (AT_ONCE * tiles_n)
    height = tl.minimum(tiles_m - band * AT_ONCE, AT_ONCE)
    within = tl.program_id(0) % (AT_ONCE * tiles_n)
    # 64 bits from here on: what they are multiplied with may carry them past 2^31.
    rows = ((band * AT_ONCE + within % height) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    columns = ((within // height) * COLUMNS + tl.arange(0, COLUMNS)).to(tl.int64)
    lanes = tl.arange(0, K_BLOCK).to(tl.int64)
    next_a = a + rows[:, None] * stride_am + lanes[None, :] * stride_ak
    next_b = b + columns[None, :] * stride_bn + lanes[:, None] * stride_bk
    next_sa = scale_a + rows // A_ROWS * stride_sam
    next_sb = scale_b + columns // B_ROWS * stride_sbn
    has_row, has_column = rows < m, columns < n
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, k, K_BLOCK):
        has_lane = lanes < k - start
        x = tl.load(next_a, mask=has_row[:, None] & has_lane[None, :], other=0.0)
        y = tl.load(next_b, mask=has_lane[:, None] & has_column[None, :], other=0.0)
        sa = tl.load(next_sa, mask=has_row, other=0.0)[:, None]
        sb = tl.load(next_sb, mask=has_column, other=0.0)[None, :]
        product = tl.dot(x, y)
        if SCALES_FIRST:
            total = tl.fma(product, sa * sb, total)
        else:
            total = tl.fma(product * sa, tl.broadcast_to(sb, [ROWS, COLUMNS]), total)
        next_a += K_BLOCK * stride_ak
        next_b += K_BLOCK * stride_bk
        next_sa += stride_sak
        next_sb += stride_sbk
    target = out + rows[:, None] * stride_om + columns[None, :] * stride_on
    tl.store(target, total.to(out.dtype.element_ty), mask=has_row[:, None] & has_column[None, :])


def scales_first(recipe: Recipe) -> bool:
    """Whether the two scales are multiplied before the product is: as cuBLASLt does where one side has 128x128."""
    return recipe.a_rows != recipe.b_rows


@torch.library.custom_op("conformance::triton_block_scaled_mm", mutates_args=("out",))
def multiply_into(out: Tensor, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, recipe: str) -> None:
    """Write ``A [M,K] @ B [N,K].T`` under ``recipe`` to ``out`` [M,N]; any strides. Operands have to fit together.

    An operator of torch, so that fake tensors and compilers meet one opaque call.
    """
    (m, k), n, rule = A.shape, B.shape[0], recipe_of(recipe)
    if not out.numel():
        return
    chosen = configuration_for(m)
    grid = (ceil_div(m, chosen.rows) * ceil_div(n, chosen.columns),)
    # The device that is current need not be that of the operands.
    with torch.cuda.device_of(out):
        _block_scaled_mm[grid](
            A, B, As, Bs, out, m, n, k,
            *A.stride(), *B.stride(), *As.stride(), *Bs.stride(), *out.stride(),
            rule.a_rows, rule.b_rows, scales_first(rule), chosen.rows, chosen.columns, TILES_AT_ONCE,
            num_warps=chosen.warps, num_stages=chosen.stages, enable_fp_fusion=False,
        )  # fmt: skip


@multiply_into.register_fake
def _(out: Tensor, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, recipe: str) -> None:
    """Nothing is written to tensors without contents."""
