"""What a call of any subject comes to before its values are looked at."""

from __future__ import annotations

from conformance.calling import Outcome
from conformance.contract import Compute, Promise
from conformance.foreign import error_line
from conformance.tiers import Judgement, failed


def judge_call(promise: Promise, outcome: Outcome) -> Judgement | None:
    """The verdict where memory was changed, or where an exception came; None where there is a result to look at."""
    if outcome.damage:
        return failed("memory-changed", outcome.damage)
    if outcome.raised is None:
        return None
    said = error_line(outcome.raised)
    if isinstance(promise, Compute) and promise.is_broken_by(outcome.raised):
        return failed("raised", said)
    return Judgement("rejected", detail=said)
