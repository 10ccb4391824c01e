"""Whether the results of related calls agree as far as that is owed.

Values are compared, not bits: a result of exactly zero may come with either sign, and a NaN equals a NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from cases.relations import Related, Relation
from conformance.calling import Outcome
from conformance.scenarios.called import Called, sum_apart
from conformance.tiers import Judgement
from conformance.trial import Trial


@dataclass(frozen=True)
class Agreement:
    """A relation on the way: ``first`` is the plain call, ``base`` the one to compare with, mostly the same."""

    relation: Relation
    related: Related
    first: Called
    base: Called

    def judge(self, parts: Sequence[Trial]) -> Judgement:
        """Make the related calls; the verdict on everything."""
        odd = None if self.base is self.first else self._odd(self.base)
        if odd is not None:
            return odd
        return self._judge_pair(parts[0]) if len(parts) == 1 else self._judge_sum(parts)

    def _judge_pair(self, part: Trial) -> Judgement:
        outcome = part.call()
        differs = self._differing(outcome)
        if differs is None or self.relation.strength == "bound" or bool(differs.any()):
            # A result that maps onto the first one, value by value, needs no oracle of its own.
            odd = self._odd(Called.of(part, outcome))
            if odd is not None:
                return odd
        return self.first.judgement if differs is None else self._judge_difference(outcome, differs)

    def _differing(self, outcome: Outcome) -> Tensor | None:
        """Mask of the elements that are not those of the base; None where there are not two results to compare."""
        ours, theirs = self.base.output, outcome.returned
        if ours is None or not isinstance(theirs, Tensor) or outcome.damage or _form(ours) != _form(theirs):
            return None
        mapped = self.related.mapped(theirs.detach())
        return (ours != mapped) & ~(ours.isnan() & mapped.isnan())

    def _judge_difference(self, outcome: Outcome, differs: Tensor) -> Judgement:
        ours, theirs = self.base.output, outcome.returned
        assert ours is not None
        assert isinstance(theirs, Tensor)
        differs = differs & self.related.comparable(ours)
        if not self._owes_bits() or not bool(differs.any()):
            return replace(self.first.judgement, holds=None if self._owes_bits() else not bool(differs.any()))
        row, column = differs.nonzero()[0].tolist()
        values = f"{self.related.mapped(theirs)[row, column]:.9g} for {ours[row, column]:.9g}"
        said = f"{int(differs.sum())} of {differs.numel()} elements differ, the first at ({row}, {column}): {values}"
        return self._failed("results-differ", said)

    def _owes_bits(self) -> bool:
        """Whether every bit has to agree; of an arithmetic that is only expected, where the first result showed it."""
        trial, claim = self.first.trial, self.first.trial.claim
        if trial.assignment.case.tier == "exact":
            # There is one right result, whatever the arithmetic, and this does not ask the oracle which.
            return True
        if not trial.assignment.backend.deterministic or self.relation.strength == "bound":
            return False
        if self.relation.strength == "any":
            return True
        if claim is None or not self.relation.keeps(claim.arithmetic):
            return False
        measured = self.first.judgement.measured
        return claim.strength != "expected" or (measured is not None and measured.plan is not None)

    def _odd(self, called: Called) -> Judgement | None:
        """The verdict where a related call did not compute, or not rightly; None where it did as the first one did."""
        mine, other = self.first.judgement, called.judgement
        said = f"with the related operands (K = {called.trial.problem.k}), {other.detail}"
        if other.verdict == "failed":
            return self._failed(other.reason, said)
        if mine.verdict == other.verdict:
            return None
        if called.trial.problem != self.first.trial.problem:
            return mine if mine.verdict == "rejected" else replace(other, detail=f"{self.relation.name}: {said}")
        refusal = mine.detail or other.detail
        return self._failed("raised", f"one of the two calls computes, the other one raises {refusal}")

    def _judge_sum(self, parts: Sequence[Trial]) -> Judgement:
        calls = []
        for part in parts:
            calls.append(Called.of(part))
            odd = self._odd(calls[-1])
            if odd is not None:
                return odd
        if self.first.output is None:
            return self.first.judgement
        apart = sum_apart(self.first, calls)
        if not bool(apart.any()):
            return self.first.judgement
        row, column = apart.nonzero()[0].tolist()
        said = f"{int(apart.sum())} of {apart.numel()} elements are not the sum, the first at ({row}, {column})"
        return self._failed("results-differ", said)

    def _failed(self, reason: str, said: str) -> Judgement:
        return Judgement("failed", reason, f"{self.relation.name}: {said}", self.first.judgement.measured)


def _form(x: Tensor) -> tuple[object, ...]:
    return tuple(x.shape), x.dtype, x.device
