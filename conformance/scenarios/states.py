"""Many calls, and what surrounds them."""

from __future__ import annotations

from conformance.trial import Finding, Trial


def perform_state(trial: Trial) -> Finding:
    """Call again and again under the circumstances that the scenario names."""
    raise NotImplementedError(trial.assignment.case.id)
