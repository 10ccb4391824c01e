"""How each scenario of `cases.scenarios` is carried out."""

from __future__ import annotations

from conformance.presentation import present
from conformance.scenarios.malformed import MALFORMED
from conformance.scenarios.relations import perform_relation
from conformance.tiers import Judgement, failed
from conformance.trial import Finding, Trial


def perform(trial: Trial) -> Finding:
    """Carry out the scenario of the case on its backend."""
    scenario = trial.assignment.case.scenario
    match scenario.kind:
        case "relation":
            return perform_relation(trial)
        case "state":
            from conformance.scenarios.states import perform_state

            return perform_state(trial)
        case "malformed":
            operands = MALFORMED[scenario.name](trial.operands)
            outcome = trial.call(present(operands))
            return Finding.of(trial.judge(outcome), outcome)
        case "rule":
            from conformance.scenarios.rules import perform_rule

            return perform_rule(trial)
        case _:
            presented = present(trial.operands, scenario.name, out_dtype=trial.problem.out_dtype)
            outcome = trial.call(presented)
            return Finding.of(_unless_declared(trial, trial.judge(outcome)), outcome)


def _unless_declared(trial: Trial, judgement: Judgement) -> Judgement:
    """``judgement``, unless it is a refusal of a layout that the kernel declares: those of the problem are its own."""
    assignment = trial.assignment
    declared = assignment.backend.capabilities.get(assignment.case.scenario.capability)
    if judgement.verdict != "rejected" or not declared or trial.judge(trial.call()).verdict != "passed":
        return judgement
    return failed("raised", f"{judgement.detail}; the same operands are multiplied where they lie as usual")
