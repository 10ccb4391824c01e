"""What a result is, in one sentence: right, a named fault, another arithmetic, or honestly unexplained."""

from __future__ import annotations

import time
from dataclasses import dataclass

from torch import Tensor

from cases import Case, Problem
from conformance.assignment import Assignment
from conformance.contract import Compute
from conformance.diagnosis.guilt import guilty_block
from conformance.diagnosis.naming import Naming, name_arithmetic, name_fault
from conformance.diagnosis.reading import honest
from conformance.diagnosis.whole import name_whole
from conformance.evidence import Evidence
from conformance.location import Location, locate
from conformance.measure import out_of_bound, wrong_exactly
from conformance.phases import during
from conformance.presentation import present
from conformance.strips import needs_strips
from conformance.trial import Finding, Trial

UNEXPLAINED = "unexplained: no single fault of the catalogue and no published arithmetic gives these elements"
UNEXPLAINED_WHOLE = "unexplained: no single fault of the catalogue gives these elements"

SECONDS = 10.0
"""What a process spends on naming faults during a run: a kernel that is wrong everywhere is named often enough by then,
and `explain` names the rest."""
_spent = 0.0


@dataclass(frozen=True)
class Diagnosis:
    """The sentence, and the short name of the ``fault`` of the catalogue where one explains the wrong elements."""

    sentence: str
    fault: str = ""


def diagnose(assignment: Assignment, evidence: Evidence, out: Tensor, verdict: str) -> Diagnosis:
    """What ``out`` [M, N] is, for the operands of ``evidence`` as a plain call lays them out."""
    if needs_strips(assignment.case):
        return Diagnosis("too large to be explained; look at a smaller case of the same kind")
    problem, claim = assignment.case.problem, assignment.claim
    if problem.has_whole_scales:
        wrong = wrong_elements(assignment.case, evidence, out)
        if not wrong.any():
            return Diagnosis("right")
        named = name_whole(present(evidence.operands), problem, out, wrong)
        return _of(named, UNEXPLAINED_WHOLE, _located(problem, evidence, out, wrong))
    presented = present(evidence.operands)
    arithmetic = name_arithmetic(honest(presented, problem), out, problem.recipe)
    if verdict == "passed" and isinstance(assignment.promise, Compute):
        return Diagnosis(f"right; {_arithmetic(arithmetic)}")
    wrong = wrong_elements(assignment.case, evidence, out)
    if not wrong.any():
        return Diagnosis(f"within the bound; {_arithmetic(arithmetic)}")
    located = _located(problem, evidence, out, wrong)
    if arithmetic is not None:
        said = f"{_arithmetic(arithmetic)}, which is not right here; wrong: {located.where}"
        return Diagnosis(said, "arithmetic")
    named = name_fault(presented, problem, out, wrong, claim.arithmetic if claim else None)
    return _of(named, UNEXPLAINED, located)


def _of(named: Naming | None, otherwise: str, located: Location) -> Diagnosis:
    if named is None:
        return Diagnosis(f"{otherwise}; wrong: {located.where}")
    return Diagnosis(f"{named.sentence()}; wrong: {located.where}", named.name)


def described(trial: Trial, found: Finding) -> dict[str, object]:
    """What a record says of a wrong result beside its numbers: where it is wrong, and the fault that explains it."""
    case, out = trial.assignment.case, found.output
    if found.judgement.verdict != "failed" or found.judgement.measured is None or out is None or needs_strips(case):
        return {}
    with during("diagnosis"):
        return _described(trial, out)


def _described(trial: Trial, out: Tensor) -> dict[str, object]:
    wrong = wrong_elements(trial.assignment.case, trial.evidence, out)
    located = _located(trial.problem, trial.evidence, out, wrong) if wrong.any() else None
    told: dict[str, object] = {} if located is None else vars(located).copy()
    if told and bool(out.isnan().all()):
        told["shape"] = "all-nan"
    named = _in_time(trial, out)
    return told if named is None else {**told, "fault": named.fault, "finding": named.sentence}


def _located(problem: Problem, evidence: Evidence, out: Tensor, wrong: Tensor) -> Location:
    located = locate(wrong)
    if problem.has_whole_scales:
        return located
    guilty = guilty_block(honest(present(evidence.operands), problem), out, wrong)
    if guilty is None:
        return located
    where = f"{located.where}, off by {guilty[1]:.3g} times the product of K block {guilty[0]}"
    return Location("k-block", where, located.picture)


def _in_time(trial: Trial, out: Tensor) -> Diagnosis | None:
    """The diagnosis, while there is time for it; what goes wrong in it must not cost the verdict."""
    global _spent
    if _spent > SECONDS:
        return None
    started = time.perf_counter()
    try:
        return diagnose(trial.assignment, trial.evidence, out, "failed")
    except Exception as error:
        return Diagnosis(f"the naming of the fault failed itself: {type(error).__name__}: {error}"[:200])
    finally:
        _spent += time.perf_counter() - started


def _arithmetic(named: Naming | None) -> str:
    if named is None:
        return "no published arithmetic gives every bit"
    return f"every bit is what {named.arithmetic} gives, with {named.plan} K blocks a chunk"


def wrong_elements(case: Case, evidence: Evidence, out: Tensor) -> Tensor:
    """Mask [M, N] of the elements that no right kernel returns."""
    if case.tier == "exact":
        return wrong_exactly(out, evidence.exact, any_special=evidence.has_infinities)
    return out_of_bound(out, evidence.expectation(None))
