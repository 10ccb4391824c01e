"""Two calls whose results must agree."""

from __future__ import annotations

from dataclasses import replace

from cases.fill.values import Values
from cases.operands import Operands
from cases.relations import RELATIONS
from cases.stream import Stream
from conformance.assignment import Assignment
from conformance.contract import Absent
from conformance.evidence import Evidence
from conformance.scenarios.agreement import Agreement
from conformance.scenarios.called import Called
from conformance.tiers import Judgement
from conformance.trial import Finding, Trial


def perform_relation(trial: Trial) -> Finding:
    """Call with the operands and with related ones, and hold one result against the other.

    Output and numbers are those of the first call, which is the plain one of the case.
    """
    relation = RELATIONS[trial.assignment.case.scenario.name]
    stream = Stream(f"relation/{relation.name}/{trial.operands.digest}", trial.device)
    related = relation.transform(trial.operands, trial.problem, stream)
    if isinstance(related, str):
        return Finding(Judgement("unsupported", related))
    parts = [_related_trial(trial, values) for values in related.parts]
    reason = next(filter(None, map(_why_absent, parts)), None)
    if reason:
        return Finding(Judgement("unsupported", reason))
    first = Called.of(trial)
    if first.judgement.verdict == "failed":
        return Finding.of(first.judgement, first.outcome)
    base = first if related.first is None else Called.of(_related_trial(trial, related.first))
    return Finding.of(Agreement(relation, related, first, base).judge(parts), first.outcome)


def _related_trial(trial: Trial, values: Values) -> Trial:
    """The same with related operands, and with what is owed for their K."""
    assignment = trial.assignment
    problem = replace(trial.problem, k=values[0].shape[1])
    if problem != trial.problem:
        case = replace(assignment.case, problem=problem)
        assignment = Assignment.of(case, assignment.backend, assignment.platform)
    return Trial(assignment, Evidence(problem, Operands(*values, f"related to {trial.operands.digest}")))


def _why_absent(trial: Trial) -> str | None:
    promise = trial.assignment.promise
    return f"related operands with K = {trial.problem.k}: {promise.reason}" if isinstance(promise, Absent) else None
