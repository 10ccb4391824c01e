"""What is timed against what: the kernels under test, and products that need no block scales."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from cases import Problem
from cases.operands import Operands
from conformance.backends.protocol import Backend
from conformance.benching.clock import Call, Timing, copies_for, measure
from conformance.presentation import present

Tensors = tuple[Tensor, Tensor, Tensor, Tensor]
BF16, ROW_WISE = "bf16 matmul", "row-wise FP8"


@dataclass(frozen=True)
class Rival:
    """A product of the same sizes without block scales; ``prepare`` makes its call, once, of a copy of the operands."""

    name: str
    operands: str
    prepare: Callable[[Tensors, Problem], Callable[[], object]]


def _bf16(tensors: Tensors, _problem: Problem) -> Callable[[], object]:
    a, b = (each.to(torch.bfloat16) for each in tensors[:2])
    return lambda: torch.mm(a, b.t())


def _row_wise(tensors: Tensors, problem: Problem) -> Callable[[], object]:
    a, b = tensors[:2]
    sa, sb = a.new_ones(problem.m, 1, dtype=torch.float32), b.new_ones(1, problem.n, dtype=torch.float32)
    return lambda: torch._scaled_mm(a, b.t(), scale_a=sa, scale_b=sb, out_dtype=problem.out_dtype)


RIVALS = (Rival(BF16, "bf16", _bf16), Rival(ROW_WISE, "fp8", _row_wise))
"""What an engine would run instead: unquantised weights, and the scaling that most kernels have."""


def operands_of(name: str) -> str:
    """Which format of operands the kernel ``name`` reads: "fp8", unless it is a rival that says otherwise."""
    return next((rival.operands for rival in RIVALS if rival.name == name), "fp8")


def time_kernels(
    operands: Operands, problem: Problem, backends: Sequence[Backend], rivals: Sequence[Rival] = ()
) -> Mapping[str, Timing]:
    """The timings of the ``backends`` and ``rivals`` on one product, on copies of its operands that no cache holds."""
    device = operands.tensors[0].device
    copies = copies_for(sum(each.nbytes for each in operands.tensors), device)
    laid_out = [present(operands).tensors for _ in range(copies)]
    return measure(dict(_calls(laid_out, problem, backends, rivals)), copies, device)


def _calls(
    laid_out: Sequence[Tensors], problem: Problem, backends: Sequence[Backend], rivals: Sequence[Rival]
) -> Iterator[tuple[str, Call]]:
    for backend in backends:
        yield backend.name, partial(_product, backend.product(problem), laid_out)
    for rival in rivals:
        yield rival.name, partial(_prepared, [rival.prepare(tensors, problem) for tensors in laid_out])


def _product(product: Callable[..., object], laid_out: Sequence[Tensors], copy: int) -> object:
    return product(*laid_out[copy])


def _prepared(calls: Sequence[Callable[[], object]], copy: int) -> object:
    return calls[copy]()
