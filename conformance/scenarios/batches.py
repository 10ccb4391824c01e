"""Whether a row of the result depends on the number of rows beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cases.operands import Operands
from cases.scenarios import INVARIANCE
from conformance.assignment import Assignment
from conformance.contract import Absent
from conformance.evidence import Evidence
from conformance.scenarios.called import Called
from conformance.scenarios.seen import odd
from conformance.tiers import Judgement, failed
from conformance.trial import Trial
from reference.blocks import recipe_of
from reference.splitk import same_bits

SIZES = (1, 2, 3, 4, 8, 16, 17, 64, 128, 129, 256, 1024)
CPU_MACS, GPU_MACS = 1 << 22, 1 << 34
"""Multiply-accumulates of a call that is not smaller than the one asked for."""


@dataclass(frozen=True)
class Batch:
    """Rows of A as a batch of their own: the first of them are those of the case from ``first`` on."""

    rows: Tensor
    scale_rows: Tensor
    first: int = 0

    @property
    def label(self) -> str:
        """How the batch is named in a sentence."""
        return f"M={len(self.rows)}" if not self.first else f"row {self.first} alone"


def batch_invariance(first: Called) -> Judgement:
    """Compare the rows that other batches have in common with the one asked for; each is judged in its own right."""
    same, apart, refused = [first.trial.problem.m], "", []
    for batch in _batches(first.trial):
        trial = _trial_of(first.trial, batch)
        called = None if isinstance(trial.assignment.promise, Absent) else Called.of(trial)
        if called is None or called.outcome.raised is not None:
            refused.append(batch.label)
            continue
        verdict = odd(f"with {batch.label}", called)
        if verdict is not None:
            return verdict
        apart = apart or _apart(first, called, batch)
        same.append(len(batch.rows))
    return _verdict(first, sorted(set(same)), apart, refused)


def _verdict(first: Called, same: list[int], apart: str, refused: list[str]) -> Judgement:
    left_out = f"; {', '.join(refused)} refused" if refused else ""
    if apart and first.trial.assignment.backend.capabilities.get(INVARIANCE):
        return replace(failed("results-differ", apart + left_out, first.judgement.measured), holds=False)
    sizes = ", ".join(map(str, same))
    said = apart or f"batch-invariant over M = {sizes}"
    return replace(first.judgement, holds=not apart, detail=said + left_out)


def _apart(first: Called, called: Called, batch: Batch) -> str:
    """The first row that is another one in the batch, as a sentence, or nothing."""
    assert first.output is not None
    assert called.output is not None
    count = min(len(first.output) - batch.first, len(called.output))
    equal = same_bits(first.output[batch.first : batch.first + count], called.output[:count]).all(1)
    if bool(equal.all()):
        return ""
    row = int((~equal).nonzero()[0]) + batch.first
    return f"row {row} differs between M={len(first.output)} and {batch.label}"


def _batches(trial: Trial) -> Iterator[Batch]:
    """Fewer and more rows, the same ones over and over; and a few rows alone."""
    problem = trial.problem
    most = max(problem.macs, CPU_MACS if trial.device.type == "cpu" else GPU_MACS) // (problem.n * problem.k)
    for size in SIZES if problem.m else ():
        if size <= most and size != problem.m:
            yield _repeated(trial, size)
    per = recipe_of(problem.recipe).a_rows
    for row in sorted({problem.m // 2, problem.m - 1} - {0, -1}):
        place = torch.tensor([row], device=trial.device)
        yield Batch(place, place // per, row)


def _repeated(trial: Trial, size: int) -> Batch:
    """The blocks of rows that share scales, over and over, up to ``size`` rows."""
    m, per = trial.problem.m, recipe_of(trial.problem.recipe).a_rows
    rows = torch.arange(size, device=trial.device)
    blocks = rows // per % -(-m // per)
    height = (m - blocks * per).clamp(max=per)
    return Batch(blocks * per + rows % per % height, blocks[::per])


def _trial_of(trial: Trial, batch: Batch) -> Trial:
    a, b, sa, sb = trial.operands.tensors
    rows = a.view(torch.uint8)[batch.rows].view(a.dtype)
    problem = replace(trial.problem, m=len(batch.rows))
    case = replace(trial.assignment.case, problem=problem)
    assignment = Assignment.of(case, trial.assignment.backend, trial.assignment.platform)
    operands = Operands(rows, b, sa[batch.scale_rows], sb, f"rows of {trial.operands.digest}")
    return Trial(assignment, Evidence(problem, operands))
