"""What a verdict is measured from, computed once for all cases that share input bytes."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from cases import Case, Problem
from cases.operands import Operands, build_operands
from conformance.phases import during
from reference import Arithmetic, Expectation, exact_block_matmul, expect, native_w8a8_block_matmul
from reference.blocks import BLOCK


class Evidence:
    """Operands of a problem and, when asked for, the exact result, the bound and the reference."""

    def __init__(self, problem: Problem, operands: Operands) -> None:
        self._problem = problem
        self.operands = operands
        self._expected: dict[Arithmetic | None, Expectation] = {}

    def expectation(self, arithmetic: Arithmetic | None) -> Expectation:
        """Exact result and accumulation error for a declared arithmetic or for any (None)."""
        if arithmetic not in self._expected:
            with during("right values"):
                expected = expect(*self.operands.tensors, recipe=self._problem.recipe, arithmetic=arithmetic)
            self._expected[arithmetic] = expected
        return self._expected[arithmetic]

    @cached_property
    def exact(self) -> Tensor:
        """The exact result, float64 [M, N]."""
        with during("right values"):
            return exact_block_matmul(*self.operands.tensors, recipe=self._problem.recipe)

    @cached_property
    def has_infinities(self) -> bool:
        """Whether a scale is infinite, so that legal kernels give NaN or infinity."""
        return any(bool(scale.isinf().any()) for scale in self.operands.tensors[2:])

    @cached_property
    def reference(self) -> Tensor | None:
        """`native_w8a8_block_matmul` in float32, for rel_diff; None for recipes that it does not define."""
        if self._problem.recipe != "1x128-128x128":
            return None
        with during("right values"):
            return native_w8a8_block_matmul(*self.operands.tensors, (BLOCK, BLOCK), torch.float32)


_by_inputs: dict[tuple[str, int, torch.device], Evidence] = {}


def evidence_for(case: Case, *, seed: int, device: torch.device) -> Evidence:
    """The evidence for ``case``; only the latest inputs are kept, since the plan puts equal ones together."""
    key = (case.inputs, seed, device)
    if key not in _by_inputs:
        _by_inputs.clear()
        with during("operands"):
            _by_inputs[key] = Evidence(case.problem, build_operands(case, seed=seed, device=device))
    return _by_inputs[key]
