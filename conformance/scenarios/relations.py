"""Two calls whose results must agree."""

from __future__ import annotations

from conformance.trial import Finding, Trial


def perform_relation(trial: Trial) -> Finding:
    """Call with the operands and with related ones, and hold one result against the other."""
    raise NotImplementedError(trial.assignment.case.id)
