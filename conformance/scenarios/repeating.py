"""The same call again: at once, after other products, and in memory that was used for other things."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from torch import Tensor

from cases import FAMILIES, Case, Problem
from cases.operands import build_operands
from cases.problem import OUT_DTYPES, RECIPES
from conformance.assignment import Assignment
from conformance.calling import Outcome, watch
from conformance.contract import Absent
from conformance.evidence import Evidence
from conformance.measure import out_of_bound
from conformance.presentation import Presented, present
from conformance.scenarios.called import Called
from conformance.scenarios.seen import Seen, form, odd, owes_bits, settle
from conformance.soiling import soil
from conformance.tiers import Judgement
from conformance.trial import Trial
from reference.splitk import same_bits

CPU_CALLS, GPU_CALLS, FEWEST = 64, 1000, 4
CPU_MACS, GPU_MACS = 1 << 28, 1 << 43
"""Multiply-accumulates that all calls of a case may come to."""
KEPT = 1 << 26
"""Bytes of results that are kept for one comparison."""
JUDGED = 4
"""Differing results of one comparison that are judged in full, those first that look wrong."""


def call_count(trial: Trial) -> int:
    """How often a call is repeated: fewer times for large problems and for the models, which are slow."""
    on_cpu = trial.device.type == "cpu"
    most, budget = (CPU_CALLS, CPU_MACS) if on_cpu else (GPU_CALLS, GPU_MACS)
    if trial.assignment.backend.is_model:
        most, budget = most // 4, budget // 4
    return max(FEWEST, min(most, budget // max(trial.problem.macs, 1)))


def repeat(first: Called) -> Judgement:
    """Call again and again without waiting."""
    assert first.output is not None
    count, size = call_count(first.trial), first.output.numel() * first.output.element_size()
    step = max(1, min(count, KEPT // max(size, 1)))
    presented = present(first.trial.operands)
    bursts = (range(start, min(start + step, count)) for start in range(0, count, step))
    seen = (one for calls in bursts for one in _burst(first, presented, calls, count))
    return settle(first, seen, owed=owes_bits(first.trial))


def _burst(first: Called, presented: Presented, calls: range, count: int) -> list[Seen]:
    """Make ``calls`` and compare at the end: what they did together, and the results that differ."""
    assert first.output is not None
    kept = first.output.new_empty((len(calls), *first.output.shape))
    outcome = watch(lambda: _fill(kept, first.trial, presented), presented, first.trial.problem)
    if not _is_result(outcome, first.output):
        return [Seen(f"in calls {calls[0] + 2} to {calls[-1] + 2}", first, outcome)]
    differing = (~same_bits(kept, first.output)).flatten(1).any(1).nonzero().flatten()
    share = f"one of {len(differing)} in {len(calls)} that differ"
    worst = _worst_first(first, kept, differing)[:JUDGED]
    # The plain call was the first one.
    return [Seen(f"call {calls[i] + 2} of {count + 1}, {share}", first, Outcome(kept[i])) for i in worst]


def _is_result(outcome: Outcome, like: Tensor) -> bool:
    came = outcome.returned
    return not outcome.damage and isinstance(came, Tensor) and form(came) == form(like)


def _fill(kept: Tensor, trial: Trial, presented: Presented) -> object:
    """Copy one result after the other to ``kept``, up to one that does not fit; the last one."""
    came: object = None
    for place in kept:
        if kept.device.type != "cpu":
            soil(trial.problem, kept.device, blocks=1)
        came = trial.assignment.backend.apply(presented.tensors, trial.problem)
        if not isinstance(came, Tensor) or form(came) != form(place):
            return came
        place.copy_(came.detach())
    return came


def _worst_first(first: Called, kept: Tensor, differing: Tensor) -> list[int]:
    """Numbers of the ``differing`` results, those first that no right kernel returns."""
    if not len(differing) or first.trial.assignment.case.tier == "declared":
        return [int(i) for i in differing.tolist()]
    wrong = out_of_bound(kept[differing], first.expectation()).flatten(1).any(1)
    return [int(i) for i in (*differing[wrong].tolist(), *differing[~wrong].tolist())]


def interleaved(first: Called) -> Judgement:
    """Call again after each of some other products. Those of the same operands are judged, of others none is."""
    for other in _other_dtypes(first.trial):
        called = Called.of(other)
        if called.judgement.verdict == "failed" and called.outcome.raised is None:
            verdict = odd(f"in between, as {other.problem.out}", called)
            assert verdict is not None
            return verdict
    return settle(first, _between(first), owed=owes_bits(first.trial))


def _between(first: Called) -> Iterator[Seen]:
    presented = present(first.trial.operands)
    for other in (*_other_dtypes(first.trial), *_strangers(first.trial)):
        other.call()
        what = f"{other.problem.operation}/{other.problem.shape}/{other.problem.out}"
        yield Seen(f"after {what}", first, first.trial.call(presented))


def _other_dtypes(trial: Trial) -> Iterator[Trial]:
    case = trial.assignment.case
    for out in OUT_DTYPES:
        changed = replace(case, problem=replace(case.problem, out=out))
        if out != case.problem.out and changed.why_not() is None:
            yield from _offered(changed, trial, trial.evidence)


def _strangers(trial: Trial) -> Iterator[Trial]:
    for problem in neighbours(trial.problem):
        case = Case(problem, FAMILIES["uniform-codes"], seed=1)
        if problem.macs <= max(4 * trial.problem.macs, 1 << 24):
            yield from _offered(case, trial, Evidence(problem, build_operands(case, device=trial.device)))


def _offered(case: Case, trial: Trial, evidence: Evidence) -> Iterator[Trial]:
    assignment = Assignment.of(case, trial.assignment.backend, trial.assignment.platform)
    if not isinstance(assignment.promise, Absent):
        yield Trial(assignment, evidence)


def neighbours(problem: Problem) -> Sequence[Problem]:
    """Problems that scratch memory, descriptors or tiles may be mixed up with."""
    m, n, k = problem.m, problem.n, problem.k
    whole = problem.k_blocks * 128 if k % 128 else k + 128
    sizes = ((m + 3, n, k), (m // 2 + 1, n, k), (m, n + 128, k), (m, max(n // 32 * 16, 16), k), (m, n, k + 16))
    more = ((m, n, whole), (m, n, max(k // 32 * 16, 16)), (1, 16, 128), (130, 272, 640))
    shaped = [replace(problem, m=m, n=n, k=k) for m, n, k in (*sizes, *more)]
    return [*shaped, *(replace(problem, recipe=recipe) for recipe in RECIPES if recipe != problem.recipe)]
