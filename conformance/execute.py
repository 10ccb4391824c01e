"""Running one case on one backend, from operands to record."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cases.operands import digest_of
from conformance.assignment import Assignment
from conformance.backends.asking import AnswerError
from conformance.capabilities.asking import settled
from conformance.contract import Absent
from conformance.deviations.ledger import Ledger
from conformance.diagnosis.finding import described
from conformance.evidence import evidence_for
from conformance.phases import during
from conformance.room import why_no_room
from conformance.scenarios import perform
from conformance.subjects.task import Task
from conformance.tiers import Claim, Judgement, failed
from conformance.trial import Finding, Trial
from conformance.verdict import CaseRecord


@dataclass(frozen=True)
class Run:
    """The record of a case, and the result that it is about where one came."""

    record: CaseRecord
    output: Tensor | None = None


def run_known(assignment: Assignment | Task, ledger: Ledger, *, seed: int, device: torch.device) -> Run:
    """`run_case` and what the ``ledger`` makes of it: what could harm the device is not run, a failure may be known."""
    case = assignment.case
    entry = ledger.quarantines(case, assignment.backend.name)
    if entry is not None:
        return Run(assignment.record(Judgement("unsupported", f"quarantined by {entry.id}: {entry.observed}")))
    with during("judging"):
        if isinstance(assignment, Task):
            run = Run(assignment.run(seed=seed, device=device))
        else:
            run = _run(assignment, seed=seed, device=device)
    return replace(run, record=ledger.settle(case, run.record))


def run_case(assignment: Assignment, *, seed: int, device: torch.device) -> CaseRecord:
    """Build, call, judge. Raises only where the harness itself fails."""
    with during("judging"):
        return _run(assignment, seed=seed, device=device).record


def judgement_of(assignment: Assignment, *, seed: int, device: torch.device) -> Judgement:
    """Build, call, judge, and no word on what is wrong and where, which takes most of the time of a failure."""
    declined = decline(assignment, device)
    return declined or _settled(assignment, _performed(_trial(assignment, seed, device)))


def _run(assignment: Assignment, *, seed: int, device: torch.device) -> Run:
    started = time.perf_counter()
    declined = decline(assignment, device)
    if declined is not None:
        return Run(assignment.record(declined))
    trial = _trial(assignment, seed, device)
    finding = _performed(trial)
    seconds = round(time.perf_counter() - started, 4)
    record = assignment.record(
        _settled(assignment, finding),
        **described(trial, finding),
        computed=finding.output is not None and finding.output.numel() > 0 and assignment.is_of_interest,
        seconds=seconds,
        input_digest=trial.evidence.operands.digest,
        output_digest=digest_of(finding.output) if finding.output is not None else "",
        deterministic=assignment.repeats_bits,
    )
    return Run(record, finding.output)


def _trial(assignment: Assignment, seed: int, device: torch.device) -> Trial:
    return Trial(assignment, evidence_for(assignment.case, seed=seed, device=device))


def _settled(assignment: Assignment, finding: Finding) -> Judgement:
    return settled(finding.judgement, assignment.declined)


def _performed(trial: Trial) -> Finding:
    try:
        return perform(trial)
    except AnswerError as error:  # what a backend was asked before the run it may be asked for other problems in it
        return Finding(failed("raised", str(error)))


def decline(assignment: Assignment, device: torch.device) -> Judgement | None:
    """Why the kernel is not called at all on ``device``, as a judgement, or None."""
    if isinstance(assignment.promise, Absent):
        return Judgement("unsupported", assignment.promise.reason)
    if assignment.case.tier == "declared" and not _declares(assignment.claim):
        return Judgement("unsupported", "special values are judged against a declared arithmetic only")
    no_room = why_no_room(assignment.case.problem, device) if assignment.case.is_huge else None
    return Judgement("unsupported", no_room) if no_room else None


def _declares(claim: Claim | None) -> bool:
    return claim is not None and claim.strength == "declared"
