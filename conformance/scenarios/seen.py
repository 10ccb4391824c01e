"""Results that have to equal another one, bit for bit, and what it means where they do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from torch import Tensor

from cases.scenarios import DETERMINISM
from conformance.calling import Outcome
from conformance.scenarios.called import Called
from conformance.tiers import Judgement
from conformance.trial import Trial
from reference.splitk import same_bits

OF_VALUES = ("wrong-values", "out-of-bound", "unexplained-bits")
"""Reasons for which a single result fails: beside a right one of the same operands it is one that differs."""


@dataclass(frozen=True)
class Seen:
    """What a call did, beside a right result of the same operands; ``label`` says which call it was."""

    label: str
    base: Called
    outcome: Outcome

    def agrees(self) -> bool:
        """Whether the call did no damage and gave every bit again."""
        ours, theirs = self.base.output, self.outcome.returned
        assert ours is not None
        if self.outcome.damage or self.outcome.raised or not isinstance(theirs, Tensor) or form(ours) != form(theirs):
            return False
        return bool(same_bits(ours, theirs).all())

    def judge(self) -> Judgement:
        """The verdict on the call alone. It is never a refusal, since the same call computed before."""
        judgement = self.base.trial.judge(self.outcome)
        if judgement.verdict == "passed":
            return judgement
        reason = "results-differ" if judgement.reason in OF_VALUES else judgement.reason or "raised"
        return Judgement("failed", reason, f"{self.label}: {judgement.detail}", judgement.measured)

    def difference(self) -> str:
        """Which bits are others, as a sentence."""
        ours, theirs = self.base.output, self.outcome.returned
        assert ours is not None
        assert isinstance(theirs, Tensor)
        apart = ~same_bits(ours, theirs)
        row, column = apart.nonzero()[0].tolist()
        values = f"{theirs[row, column]:.9g} for {ours[row, column]:.9g}"
        many = f"{int(apart.sum())} of {apart.numel()} elements have other bits"
        return f"{self.label}: {many}, the first at ({row}, {column}): {values}"


def form(x: Tensor) -> tuple[object, ...]:
    """What tensors have to share before their bits can be compared."""
    return tuple(x.shape), x.dtype, x.device


def settle(first: Called, seen: Iterable[Seen], *, owed: bool) -> Judgement:
    """The verdict on calls that have to agree; where that is not ``owed``, right results may differ."""
    difference = ""
    for one in seen:
        if one.agrees():
            continue
        judgement = one.judge()
        if judgement.verdict == "failed":
            return judgement
        difference = difference or one.difference()
    if not difference:
        return replace(first.judgement, holds=True)
    if owed:
        return Judgement("failed", "results-differ", difference, first.judgement.measured, holds=False)
    return replace(first.judgement, holds=False, detail=f"{difference}; every result is right in itself")


def owes_bits(trial: Trial) -> bool:
    """Whether equal calls owe equal bits: where that is declared, or where an arithmetic is and not the opposite."""
    declared = trial.assignment.backend.capabilities.get(DETERMINISM)
    if declared is None:
        return trial.claim is not None and trial.claim.strength != "expected"
    return declared


def odd(label: str, called: Called) -> Judgement | None:
    """The verdict where a call with other contents did not compute rightly, or None."""
    judgement = called.judgement
    if judgement.verdict == "passed":
        return None
    return replace(
        judgement, verdict="failed", reason=judgement.reason or "raised", detail=f"{label}: {judgement.detail}"
    )
