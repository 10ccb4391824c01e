"""Honest SM90 results that are disturbed by a chosen amplitude, and what they are judged by."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from cases import FAMILIES, Case, Problem
from cases.operands import build_operands
from conformance.evidence import Evidence
from reference import emulate_block_scaled_mm
from reference.blocks import BLOCK
from reference.splitk import plans

KINDS = {
    "gain": "every result times 1 + ε",
    "bias": "ε times the rms of all results added to every one",
    "element": "one result times 1 + ε",
    "row": "one row times 1 + ε",
    "tile": f"one tile of {BLOCK} x {BLOCK} times 1 + ε",
}
"""Disturbances and what they do; element, row and tile are those whose mean magnitude is the median of their kind."""
K = 512

Region = tuple[slice, slice]
EVERYWHERE: Region = (slice(None), slice(None))


class Subject:
    """A result [size, size] of ``family`` over K = 512 on one device: honest, disturbed, and the evidence for both."""

    def __init__(self, family: str, size: int, out: str, device: torch.device) -> None:
        self.case = Case(Problem(size, size, K, out), FAMILIES[family])
        self.evidence = Evidence(self.case.problem, build_operands(self.case, device=device))

    @cached_property
    def honest(self) -> tuple[Tensor, ...]:
        """The stored result under every plan that K may be split by, unsplit first."""
        return tuple(result.to(self.case.problem.out_dtype) for result in self._results)

    @cached_property
    def reference(self) -> Tensor:
        """What the field compares with: its float32 loop over the same quantised operands, as stored, in float64."""
        assert self.evidence.reference is not None
        return self.evidence.reference.to(self.case.problem.out_dtype).double()

    def disturbed(self, kind: str, epsilon: float) -> Tensor:
        """The result as stored with ``kind`` at amplitude ``epsilon``: the float32 sums are disturbed, then rounded.

        A disturbance below half a unit of float32 leaves the sum what it was, as it would in a kernel.
        """
        region, out = self._regions[kind], self.honest[0].clone()
        sums = self._results[0][region].double()
        sums = sums + epsilon * self._rms if kind == "bias" else sums * (1 + epsilon)
        out[region] = sums.float().to(out.dtype)
        return out

    @cached_property
    def _results(self) -> tuple[Tensor, ...]:
        tensors = self.evidence.operands.tensors
        splits = plans(self.case.problem.k_blocks)
        return tuple(emulate_block_scaled_mm(*tensors, out_dtype=torch.float32, split_k=plan) for plan in splits)

    @cached_property
    def _rms(self) -> float:
        return self._results[0].double().square().mean().sqrt().item()

    @cached_property
    def _regions(self) -> dict[str, Region]:
        result = self._results[0]
        rows, columns = result.shape
        typical = {
            "element": typical_cell(result, 1, 1),
            "row": typical_cell(result, 1, columns),
            "tile": typical_cell(result, min(BLOCK, rows), min(BLOCK, columns)),
        }
        return {"gain": EVERYWHERE, "bias": EVERYWHERE, **typical}


def typical_cell(result: Tensor, height: int, width: int) -> Region:
    """The cell of ``result`` whose mean magnitude is the (lower) median over all whole cells.

    A louder cell shows earlier in a mean over everything, a quieter one later.
    """
    down, across = result.shape[0] // height, result.shape[1] // width
    whole = result[: down * height, : across * width].double().abs()
    means = whole.reshape(down, height, across, width).mean((1, 3)).flatten()
    # Which of several equal values a median returns is up to the device; a stable sort names the first.
    order = means.argsort(stable=True)
    row, column = divmod(int(order[(len(order) - 1) // 2]), across)
    return slice(row * height, (row + 1) * height), slice(column * width, (column + 1) * width)
