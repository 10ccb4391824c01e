"""Kernels that are right in one call that is waited for, and wrong amid other streams or in a graph."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from kernels import Reversed
from stateful_kernels import OneBuffer
from torch import Tensor

CUDA: Any = torch.cuda
LATE = 20_000_000
"""Cycles for which a stream is held up: about ten milliseconds."""


class ReadsOnOtherStream:
    """Copies scales on a stream that waits for nothing."""

    name = "reads-on-other-stream"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        side = CUDA.Stream(A.device)
        with CUDA.stream(side):
            early = As.clone()
        CUDA.current_stream(A.device).wait_stream(side)
        early.record_stream(CUDA.current_stream(A.device))
        return Reversed().apply_block_scaled_mm(A, B, early, Bs, out_dtype=out_dtype)


class WorksOnDefaultStream:
    """Computes on the default stream, which does not wait for the caller's."""

    name = "works-on-default-stream"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        with CUDA.stream(CUDA.default_stream(A.device)):
            out = Reversed().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        CUDA.current_stream(A.device).wait_stream(CUDA.default_stream(A.device))
        out.record_stream(CUDA.current_stream(A.device))
        return out


class NobodyWaits:
    """Stores the result on a stream of its own that nobody waits for."""

    name = "nobody-waits"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        late = Reversed().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        out, side = torch.zeros_like(late), CUDA.Stream(A.device)
        side.wait_stream(CUDA.current_stream(A.device))
        with CUDA.stream(side):
            CUDA._sleep(LATE)
            out.copy_(late)
        for tensor in (late, out):
            tensor.record_stream(side)
        return out


class WarmScales:
    """A graph records the scales of the last eager call at that address."""

    name = "warm-scales"

    def __init__(self) -> None:
        self.warm: dict[int, Tensor] = {}

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        if not CUDA.is_current_stream_capturing():
            self.warm[Bs.data_ptr()] = Bs.clone()
        scales = self.warm.get(Bs.data_ptr(), Bs)
        return Reversed().apply_block_scaled_mm(A, B, As, scales, out_dtype=out_dtype)


class SharedInGraph(OneBuffer):
    """One buffer for all results of a graph; eager ones have their own."""

    name = "shared-in-graph"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        out = super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        return out if CUDA.is_current_stream_capturing() else out.clone()


class LooksAtScales:
    """Reads a scale on the host, which no capture allows."""

    name = "looks-at-scales"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        return Reversed().apply_block_scaled_mm(A, B, As * (Bs[0, 0].item() != 0.5e-30), Bs, out_dtype=out_dtype)


class OwesGraphs(LooksAtScales):
    name = "owes-graphs"
    capabilities: ClassVar[dict[str, bool]] = {"graph_capture": True}
