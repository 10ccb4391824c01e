"""The parts of the suite on single products: engines of the bit model, oracle, bounds, inference, operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from cases import Case
from cases.case import parse_product
from cases.operands import build_operands
from conformance.benching.clock import measure
from conformance.benching.rivals import Tensors
from conformance.presentation import present
from reference import SM90, emulate_block_scaled_mm, exact_block_matmul, expect, infer_split_k
from reference.blocks import DEFAULT_RECIPE, recipe_of
from reference.dot import Lanes
from reference.engine import ENGINES, why_not
from reference.plain import plain_block_products
from reference.promote import promote
from reference.tiles import Tile, scales_by_row

CPU_CASES = (
    "gemm/1x128-128x128/m83-n576-k7168/bf16/quantised-normal/s0",
    "gemm/1x128-128x128/m83-n576-k7168/bf16/uniform-codes/s0",
    "gemm/1x128-128x128/m83-n576-k7168/bf16/tagged-integers/s0",
)
GPU_CASES = (
    "gemm/1x128-128x128/m1024-n4096-k7168/bf16/quantised-normal/s0",
    "gemm/1x128-128x128/m1024-n4096-k7168/bf16/uniform-codes/s0",
    "gemm/1x128-128x128/m4096-n7168-k7168/bf16/quantised-normal/s0",
    "gemm/1x128-128x128/m83-n576-k7168/bf16/quantised-normal/s0",
)
EAGER_LIMIT = 1 << 35
"""Multiply-accumulates up to which the eager engine is timed."""


def engine_rows(device: torch.device) -> Iterator[dict[str, Any]]:
    """One row for each case and part of the suite."""
    for case in map(parse_product, CPU_CASES if device.type == "cpu" else GPU_CASES):
        tensors = build_operands(case, device=device).tensors
        parts = dict(_parts(case, tensors, device))
        timings = measure({name: _numberless(part) for name, part in parts.items()}, 1, device, replays=False)
        for name, timing in timings.items():
            rate = case.problem.macs / timing.called / 1e9
            yield {"case": case.id, "part": name, "seconds": timing.called, "gmac_per_s": rate}


def _numberless(part: Callable[[], object]) -> Callable[[int], object]:
    return lambda _: part()


def _parts(case: Case, tensors: Tensors, device: torch.device) -> Iterator[tuple[str, Callable[[], object]]]:
    dtype = case.problem.out_dtype
    for name in ENGINES:
        if why_not(name, device, SM90) is None and (name != "eager" or case.problem.macs <= EAGER_LIMIT):
            yield f"engine {name}", _emulation(tensors, dtype, name)
    if device.type == "cuda" and case.problem.macs <= EAGER_LIMIT:
        yield "torch.compile, plain model", _compiled_plain_model(tensors, dtype)
    out = emulate_block_scaled_mm(*tensors, out_dtype=dtype)
    yield "split-K inference", lambda: infer_split_k(*tensors, out)
    yield "exact oracle", lambda: exact_block_matmul(*tensors)
    if case.problem.macs < 1 << 31:
        yield "bound, declared", lambda: expect(*tensors, arithmetic=SM90)
        yield "bound, undeclared", lambda: expect(*tensors, arithmetic=None)
    operands = build_operands(case, device=device)
    yield "operands, built and proven", lambda: build_operands(case, device=device)
    yield "operands, laid out", lambda: present(operands)


def _emulation(tensors: Tensors, dtype: torch.dtype, engine: str) -> Callable[[], object]:
    return lambda: emulate_block_scaled_mm(*tensors, out_dtype=dtype, engine=engine)


def _compiled_plain_model(tensors: Tensors, dtype: torch.dtype) -> Callable[[], object]:
    """The emulation by what torch.compile makes of `reference.plain`, with the eager promotion."""
    A, B, As, Bs = tensors
    compiled = torch.compile(plain_block_products)
    everything = Tile(slice(0, A.shape[0]), slice(0, B.shape[0]))
    sa, sb = scales_by_row(As, Bs, recipe_of(DEFAULT_RECIPE), A.shape[0], B.shape[0])

    def emulate() -> Tensor:
        lanes = Lanes.of(A, B, SM90)
        blocks = [compiled(lanes.at(slice(i, i + 1), everything), SM90) for i in range(sa.shape[0])]
        return promote(torch.cat(blocks), sa, sb, order="scales-first", split=sa.shape[0]).to(dtype)

    return emulate
