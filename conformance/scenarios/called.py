"""A call with the verdict on it, and what several of them add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from conformance.calling import Outcome
from conformance.tiers import Judgement
from conformance.trial import Trial
from reference import Expectation

OF_FLOAT64 = 2.0**-20
"""Share of the bound that covers what float64 sums are off by: 2^-42 of all absolute products, or more."""


@dataclass(frozen=True)
class Called:
    """A trial, what its call did, and the verdict on that alone."""

    trial: Trial
    outcome: Outcome
    judgement: Judgement

    @classmethod
    def of(cls, trial: Trial, outcome: Outcome | None = None) -> Called:
        """Call, or take the ``outcome``, and judge; a right result is copied, so that no other call overwrites it."""
        outcome = outcome or trial.call()
        judgement = trial.judge(outcome)
        if judgement.verdict == "passed" and isinstance(outcome.returned, Tensor):
            outcome = replace(outcome, returned=outcome.returned.detach().clone())
        return cls(trial, outcome, judgement)

    @property
    def output(self) -> Tensor | None:
        """The result, where one came that is right in itself."""
        returned = self.outcome.returned
        return returned if isinstance(returned, Tensor) and self.judgement.verdict == "passed" else None

    def expectation(self) -> Expectation:
        """The exact value, and how far the result may be from it before output rounding."""
        evidence, claim = self.trial.evidence, self.trial.claim
        if self.trial.assignment.case.tier == "exact":
            return Expectation(evidence.exact, torch.zeros_like(evidence.exact))
        return evidence.expectation(claim.arithmetic if claim else None)


def sum_apart(whole: Called, parts: Sequence[Called]) -> Tensor:
    """Mask of the elements whose exact value the results of ``parts`` do not add up to.

    Each may be off by its own bound, the rounding to the output dtype included. Where a part may overflow, nothing is
    known, and special values have no bound.
    """
    exact = whole.expectation().exact
    total, room = torch.zeros_like(exact), torch.zeros_like(exact)
    for part in parts:
        assert part.output is not None
        expected = part.expectation()
        low, high = expected.interval(part.output.dtype)
        room += torch.maximum(high - expected.exact, expected.exact - low) + OF_FLOAT64 * expected.error
        total += part.output.double()
    known = torch.isfinite(room) & (whole.trial.assignment.case.tier != "declared")
    return known & ~((total - exact).abs() <= room)
