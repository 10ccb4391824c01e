"""From what came and what was owed to a verdict."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from cases import Case
from conformance.calling import Outcome
from conformance.contract import Compute, Promise, Refuse
from conformance.evidence import Evidence
from conformance.foreign import error_line
from conformance.received import Unusable
from conformance.tiers import Claim, Judgement, failed, judge_values


def judge(case: Case, evidence: Evidence, promise: Promise, claim: Claim | None, outcome: Outcome) -> Judgement:
    """The verdict on ``outcome`` where ``promise`` was owed for ``case``."""
    if outcome.damage:
        return failed("memory-changed", outcome.damage)
    if outcome.raised is not None:
        return _judge_exception(case, promise, outcome.raised)
    if isinstance(promise, Refuse):
        return failed("accepted", f"a result came where {promise} was owed")
    if outcome.unused:
        return failed("out-not-used", outcome.unused)
    misfit = _judge_form(case, evidence, outcome.returned)
    if misfit is not None:
        return misfit
    assert isinstance(outcome.returned, Tensor)
    return judge_values(case, evidence, claim, outcome.returned.detach())


def _judge_exception(case: Case, promise: Promise, error: BaseException) -> Judgement:
    said = error_line(error)
    if case.is_huge and isinstance(error, torch.OutOfMemoryError):
        # How much a kernel needs beside operands and result is its own affair, as long as it says so.
        return Judgement("rejected", detail=said)
    if isinstance(promise, Compute) and promise.is_broken_by(error):
        return failed("raised", said)
    if isinstance(promise, Refuse) and promise.is_reworded_in(error):
        # Nothing was computed and nothing is wrong: what changed is the contract, and whoever matches its texts.
        return Judgement("rejected", "contract-changed", f"{said} came where {promise} was known")
    if isinstance(promise, Refuse) and not promise.accepts(error):
        return failed("wrong-refusal", f"{said} came where {promise} was owed")
    return Judgement("rejected", detail=said)


def _judge_form(case: Case, evidence: Evidence, out: object) -> Judgement | None:
    problem, device = case.problem, evidence.operands.A.device
    if isinstance(out, Unusable):
        owed = f"one plain tensor {[problem.m, problem.n]} of {problem.out_dtype} on {device}"
        return failed(out.reason, f"{out.what}: {out.instead} {owed}")
    assert isinstance(out, Tensor)
    if tuple(out.shape) != (problem.m, problem.n):
        return failed("wrong-shape", f"the result has shape {tuple(out.shape)}, not {(problem.m, problem.n)}")
    if out.dtype != problem.out_dtype:
        return failed("wrong-dtype", f"the result is {out.dtype}, not {problem.out_dtype}")
    if out.device != device:
        return failed("wrong-device", f"the result is on {out.device}, not on {device}")
    if _overlaps(out):
        return failed("elements-shared", f"elements of the result share memory: its strides are {out.stride()}")
    return None


def _overlaps(out: Tensor) -> bool:
    """Whether two elements of a matrix lie in the same memory, as in an expanded one."""
    (rows, columns), (down, right) = out.shape, out.stride()
    # The nearest element at the same address is right / g rows and down / g columns away, g their greatest divisor.
    common = math.gcd(down, right)
    if not common:
        return rows * columns > 1
    return right // common < rows and down // common < columns
