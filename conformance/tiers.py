"""The tiers that a result's values are held to: exact, bound, bits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from cases import Case
from conformance.evidence import Evidence
from conformance.measure import measure_bits, measure_bound, measure_exact
from conformance.strips import measure_in_strips, needs_strips
from conformance.verdict import Measured, Reason, Verdict
from reference import Arithmetic, infer_split_k

BOUND_BESIDE_BITS = 1 << 31
"""Multiply-accumulates up to which err/bound is measured beside bits that already settle the verdict."""


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
    """A verdict with its reason from the closed vocabulary, a sentence, and the numbers.

    ``holds`` is whether a property that nobody is owed was seen, None where none was looked for.
    """

    verdict: Verdict
    reason: Reason | str = ""
    detail: str = ""
    measured: Measured | None = None
    holds: bool | None = None


def failed(reason: Reason, detail: str, measured: Measured | None = None) -> Judgement:
    """The judgement ``failed``."""
    return Judgement("failed", reason, detail, measured)


def judge_values(case: Case, evidence: Evidence, claim: Claim | None, out: Tensor) -> Judgement:
    """The verdict on the values of ``out``, which has the right form."""
    if case.tier == "exact":
        measured = _measure_exact(case, evidence, out)
        return _unless_wrong("wrong-values", measured, case.family.note(case.problem, case.seed))
    if claim is None or claim.strength == "bound":
        return _unless_wrong("out-of-bound", _measure_bound(evidence, claim, out))
    return _judge_bits(case, evidence, claim, out)


def _measure_exact(case: Case, evidence: Evidence, out: Tensor) -> Measured:
    if needs_strips(case):
        return measure_in_strips(out, evidence.operands, case.problem.recipe)
    special = case.family.is_special and evidence.has_infinities
    return measure_exact(out, evidence.exact, evidence.reference, any_special=special)


def _unless_wrong(reason: Reason, measured: Measured, note: str = "") -> Judgement:
    if not measured.wrong:
        return Judgement("passed", measured=measured)
    return failed(reason, sentence(measured) + (f"; {note}" if note else ""), measured)


def _measure_bound(evidence: Evidence, claim: Claim | None, out: Tensor) -> Measured:
    expectation = evidence.expectation(claim.arithmetic if claim else None)
    return measure_bound(out, expectation, evidence.reference)


def _judge_bits(case: Case, evidence: Evidence, claim: Claim, out: Tensor) -> Judgement:
    """An arithmetic that gives every bit settles the matter; where it does not, the bound is asked first."""
    fit = infer_split_k(*evidence.operands.tensors, out, recipe=case.problem.recipe, arithmetic=claim.arithmetic)
    if case.tier == "bound" and (fit.plan is None or case.problem.macs <= BOUND_BESIDE_BITS):
        measured = _measure_bound(evidence, claim, out)
    else:
        # Beside every bit explained, or for special values, no distance from the exact value is wrong.
        measured = replace(measure_exact(out, evidence.exact, evidence.reference), wrong=0, first_wrong=())
    explained = measure_bits(measured, fit, claim.arithmetic.name)
    if fit.plan is not None:
        return Judgement("passed", measured=replace(explained, wrong=0, first_wrong=()))
    if measured.wrong:
        return failed("out-of-bound", sentence(measured), explained)
    if claim.strength == "expected" and case.tier == "bound":
        return Judgement("passed", measured=replace(explained, arithmetic="unconfirmed"))
    said = f"{claim.arithmetic.name} explains {fit.explained} of {fit.total} elements"
    return failed("unexplained-bits", said, explained)


def sentence(measured: Measured, what: str = "elements") -> str:
    """How many of ``what`` are wrong, and the first of them; there is one at least."""
    first = measured.first_wrong[0]
    share = measured.wrong / measured.elements
    return (
        f"{measured.wrong} of {measured.elements} {what} ({share:.1%}) are wrong, the first at "
        f"({first.row}, {first.column}): {float.fromhex(first.actual):.8g} for {float.fromhex(first.expected):.8g}"
    )
