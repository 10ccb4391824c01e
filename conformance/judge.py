"""From what came and what was owed to a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from cases import Case
from conformance.capabilities import Compute, Promise, Refuse
from conformance.evidence import Evidence
from conformance.measure import measure_bits, measure_bound, measure_exact
from conformance.verdict import Measured, Reason, Verdict
from reference import Arithmetic, infer_split_k


@dataclass(frozen=True)
class Outcome:
    """What a call did: it returned something or raised, and it may have changed memory that was not its own."""

    returned: object = None
    raised: BaseException | None = None
    damage: str | None = None


@dataclass(frozen=True)
class Claim:
    """The arithmetic that a result is held to, and how strictly.

    A ``declared`` one must explain every bit; an ``expected`` one is noted as confirmed or not; of the bit model itself
    (``bound``) only the error bound is used, since it must not be its own judge.
    """

    arithmetic: Arithmetic
    strength: Literal["declared", "expected", "bound"]


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason from the closed vocabulary, a sentence, and the numbers."""

    verdict: Verdict
    reason: Reason | str = ""
    detail: str = ""
    measured: Measured | None = None


def judge(case: Case, evidence: Evidence, promise: Promise, claim: Claim | None, outcome: Outcome) -> Judgement:
    """The verdict on ``outcome`` where ``promise`` was owed for ``case``."""
    if outcome.damage:
        return _failed("memory-changed", outcome.damage)
    if outcome.raised is not None:
        return _judge_refusal(promise, outcome.raised)
    if isinstance(promise, Refuse):
        return _failed("accepted", f"a result came where {_either(promise)} was owed")
    return _judge_form(case, evidence, outcome.returned) or _judge_values(case, evidence, claim, outcome.returned)


def _failed(reason: Reason, detail: str, measured: Measured | None = None) -> Judgement:
    return Judgement("failed", reason, detail, measured)


def _either(promise: Refuse) -> str:
    return " or ".join(str(refusal) for refusal in promise.refusals)


def _judge_refusal(promise: Promise, error: BaseException) -> Judgement:
    said = f"{type(error).__name__}: {_first_line(error)}"
    if isinstance(promise, Compute):
        return _failed("raised", said)
    if isinstance(promise, Refuse) and not any(refusal.matches(error) for refusal in promise.refusals):
        return _failed("wrong-refusal", f"{said} came where {_either(promise)} was owed")
    return Judgement("rejected", detail=said)


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else "(no text)"


def _judge_form(case: Case, evidence: Evidence, out: object) -> Judgement | None:
    problem, device = case.problem, evidence.operands.A.device
    if not isinstance(out, Tensor):
        return _failed("not-a-tensor", f"a {type(out).__name__} came, not a tensor")
    if tuple(out.shape) != (problem.m, problem.n):
        return _failed("wrong-shape", f"the result has shape {tuple(out.shape)}, not {(problem.m, problem.n)}")
    if out.dtype != problem.out_dtype:
        return _failed("wrong-dtype", f"the result is {out.dtype}, not {problem.out_dtype}")
    if out.device != device:
        return _failed("wrong-device", f"the result is on {out.device}, not on {device}")
    return None


def _judge_values(case: Case, evidence: Evidence, claim: Claim | None, out: object) -> Judgement:
    assert isinstance(out, Tensor)
    out = out.detach()
    if case.family.tier == "exact":
        measured = measure_exact(out, evidence.exact, evidence.reference)
        reason: Reason = "wrong-values"
    else:
        arithmetic = claim.arithmetic if claim else None
        measured = measure_bound(out, evidence.expectation(arithmetic), evidence.reference)
        reason = "out-of-bound"
    if measured.wrong:
        return _failed(reason, _wrong_sentence(measured), measured)
    if claim and claim.strength != "bound" and case.family.tier == "bound":
        return _judge_bits(case, evidence, claim, out, measured)
    return Judgement("passed", measured=measured)


def _judge_bits(case: Case, evidence: Evidence, claim: Claim, out: Tensor, measured: Measured) -> Judgement:
    fit = infer_split_k(*evidence.operands.tensors, out, recipe=case.problem.recipe, arithmetic=claim.arithmetic)
    if fit.plan is not None:
        return Judgement("passed", measured=measure_bits(measured, fit, claim.arithmetic.name))
    if claim.strength == "expected":
        return Judgement("passed", measured=measure_bits(measured, fit, "unconfirmed"))
    detail = f"{claim.arithmetic.name} explains {fit.explained} of {fit.total} elements; all are within the bound"
    return _failed("unexplained-bits", detail, measure_bits(measured, fit, claim.arithmetic.name))


def _wrong_sentence(measured: Measured) -> str:
    first = measured.first_wrong[0]
    share = measured.wrong / measured.elements
    return (
        f"{measured.wrong} of {measured.elements} elements ({share:.1%}) are wrong, the first at "
        f"({first.row}, {first.column}): {float.fromhex(first.actual):.8g} for {float.fromhex(first.expected):.8g}"
    )


def synchronise(device: torch.device) -> None:
    """Wait for ``device``, so that a kernel's asynchronous error surfaces in the case that caused it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "xpu":
        torch.xpu.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
