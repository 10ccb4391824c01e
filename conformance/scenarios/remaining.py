"""What a spoiled call multiplies, where somebody takes it: the operands that were handed over, a bias, other scales."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from cases import Case, Problem
from cases.operands import Operands
from conformance.backends.raw import RawCall
from conformance.evidence import Evidence
from reference.blocks import BLOCK


def _in_e8m0(given: Operands) -> Operands:
    """Scales are powers of two, as far as they are then."""
    one, other = (scale.to(torch.float8_e8m0fnu).float() for scale in (given.As, given.Bs))
    return replace(given, As=one, Bs=other)


def _one_a_block(given: Operands) -> Operands:
    """All rows of a block have the A scales of its first one."""
    rows = torch.arange(given.As.shape[0], device=given.As.device)
    return replace(given, As=given.As[rows - rows % BLOCK])


SENSES: dict[str, Callable[[Operands], Operands]] = {"scales-e8m0": _in_e8m0, "recipe-blocks-twice": _one_a_block}
"""The rules that hand other scales over: what is multiplied where somebody takes them."""


class _Known(Evidence):
    """Evidence whose exact result is known already."""

    def __init__(self, problem: Problem, operands: Operands, exact: Tensor) -> None:
        super().__init__(problem, operands)
        self.exact = exact
        self.reference = exact.float()


def what_is_left(case: Case, evidence: Evidence, raw: RawCall) -> tuple[Case, Evidence]:
    """The case and its evidence where something was taken away, has another sense, or a bias is added to the sum."""
    m, n, k = raw.A.shape[0], raw.B.shape[1], raw.A.shape[1]
    bias = raw.more.get("bias")
    sense = SENSES.get(case.scenario.name)
    problem = replace(case.problem, m=m, n=n, k=k)
    if problem == case.problem and bias is None and sense is None:
        return case, evidence
    left = Evidence(problem, _cut(sense(evidence.operands) if sense else evidence.operands, problem))
    exact = left.exact if m and n and k else left.operands.As.new_zeros((m, n), dtype=torch.float64)
    if bias is not None and bias.numel() == n:
        exact = exact + bias.double()
    return replace(case, problem=problem), _Known(problem, left.operands, exact)


def _cut(given: Operands, to: Problem) -> Operands:
    a, b, sa, sb = given.tensors
    tensors = (a[: to.m, : to.k], b[: to.n, : to.k], sa[: to.m, : to.k_blocks], sb[: to.n_blocks, : to.k_blocks])
    a, b, sa, sb = (x.contiguous() for x in tensors)
    return Operands(a, b, sa, sb, given.digest)
