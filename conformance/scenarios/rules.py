"""A raw call of torch's own APIs with one thing spoiled: what came, when, and whether all is well afterwards."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import torch
from torch import Tensor

from cases import Case, Problem
from cases.operands import Operands
from conformance.backends.raw import RawCall, raw_call
from conformance.calling import Outcome, first_line, watch
from conformance.evidence import Evidence
from conformance.judge import judge
from conformance.presentation import present
from conformance.scenarios.spoiling import SENSES, SPOILS
from conformance.tiers import Judgement, failed
from conformance.trial import Finding, Trial
from reference.blocks import BLOCK

SHORT, LONG = 1 << 27, 1 << 30
"""Clock cycles for which the device is busy while it is asked to refuse: a tenth of a second, and most of one."""


def perform_rule(trial: Trial) -> Finding:
    """Call as usual, spoiled, and as usual again."""
    before = _attempt(trial.call)
    presented, api = present(trial.operands), trial.assignment.backend.api
    assert api is not None
    raw = SPOILS[trial.assignment.case.scenario.name](raw_call(api, presented.tensors, trial.problem.out_dtype))
    pristine = {name: _octets(x).clone() for name, x in _untouchable(raw).items()}
    outcome = _attempt(lambda: watch(raw, presented, trial.problem))
    judgement = _judge(trial, raw, outcome)
    if judgement.verdict != "failed":
        trouble = _changed(raw, pristine, outcome) or _late(raw, outcome) or _unlike(before, _attempt(trial.call))
        judgement = trouble or judgement
    return Finding.of(judgement, outcome)


def _attempt(action: Callable[[], Outcome]) -> Outcome:
    """What ``action`` comes to, were it that the device itself no longer answers."""
    try:
        return action()
    except Exception as error:  # a device that a kernel has broken raises wherever it is used
        return Outcome(raised=error)


def _judge(trial: Trial, raw: RawCall, outcome: Outcome) -> Judgement:
    """The verdict on the spoiled call: values are held to the product of what was handed over, bias included."""
    assignment = trial.assignment
    case, evidence = assignment.case, trial.evidence
    if outcome.raised is None:
        case, evidence = _of_what_is_left(case, evidence, raw)
    return judge(case, evidence, assignment.promise, assignment.claim, outcome)


class _Known(Evidence):
    """Evidence whose exact result is known already."""

    def __init__(self, problem: Problem, operands: Operands, exact: Tensor) -> None:
        super().__init__(problem, operands)
        self.exact = exact
        self.reference = exact.float()


def _of_what_is_left(case: Case, evidence: Evidence, raw: RawCall) -> tuple[Case, Evidence]:
    """The case and its evidence where something was taken away, has another sense, or a bias is added to the sum."""
    m, n, k = raw.A.shape[0], raw.B.shape[1], raw.A.shape[1]
    bias = raw.more.get("bias")
    sense = SENSES.get(case.scenario.name)
    problem = replace(case.problem, m=m, n=n, k=k)
    if problem == case.problem and bias is None and sense is None:
        return case, evidence
    left = Evidence(problem, _cut(sense(evidence.operands) if sense else evidence.operands, m, n, k))
    exact = left.exact if m and n and k else left.operands.As.new_zeros((m, n), dtype=torch.float64)
    if bias is not None and bias.numel() == n:
        exact = exact + bias.double()
    return replace(case, problem=problem), _Known(problem, left.operands, exact)


def _cut(given: Operands, m: int, n: int, k: int) -> Operands:
    n_blocks, k_blocks = -(-n // BLOCK), -(-k // BLOCK)
    a, b, sa, sb = given.tensors
    tensors = (a[:m, :k], b[:n, :k], sa[:m, :k_blocks], sb[:n_blocks, :k_blocks])
    a, b, sa, sb = (x.contiguous() for x in tensors)
    return Operands(a, b, sa, sb, given.digest)


def _untouchable(raw: RawCall) -> dict[str, Tensor]:
    out = raw.more.get("out")
    return raw.inputs if out is None else {**raw.inputs, "out": out}


def _octets(x: Tensor) -> Tensor:
    return x.contiguous().view(-1).view(torch.uint8)


def _changed(raw: RawCall, pristine: dict[str, Tensor], outcome: Outcome) -> Judgement | None:
    """An argument that is not what it was; an `out` is written where nothing was refused."""
    for name, x in _untouchable(raw).items():
        if not torch.equal(_octets(x), pristine[name]) and (name != "out" or outcome.raised is not None):
            return failed("memory-changed", f"the argument {name} was written to")
    return None


def _late(raw: RawCall, outcome: Outcome) -> Judgement | None:
    """A refusal that waits for the device, on which something was launched before it then.

    The stream is kept busy meanwhile: whoever asks the device gets no answer before that has ended.
    """
    if outcome.raised is None or raw.A.device.type != "cuda" or waits_for_nothing(raw, _occupy):
        return None
    return failed("refused-late", f"{first_line(outcome.raised)} came when the device had done all its work")


def waits_for_nothing(action: Callable[[], object], occupy: Callable[[int], Callable[[], bool]]) -> bool:
    """Whether ``action`` ends while a device is busy; ``occupy`` makes it so and says how to ask whether it is done.

    A host that is slow once is given more time once.
    """
    for cycles in (SHORT, LONG):
        is_done = occupy(cycles)
        with suppress(Exception):  # that it refuses is known
            action()
        if not is_done():
            return True
    return False


def _occupy(cycles: int) -> Callable[[], bool]:
    torch.cuda.synchronize()
    torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]
    event = torch.cuda.Event()  # type: ignore[no-untyped-call]
    event.record()
    return event.query


def _unlike(before: Outcome, after: Outcome) -> Judgement | None:
    """A plain call that is not answered as it was before the spoiled one."""
    one, other = _answer(before), _answer(after)
    if one == other:
        return None
    return failed("later-call-changed", f"a plain call {other[0]} after it, and {one[0]} before it")


def _answer(outcome: Outcome) -> tuple[str, object]:
    """What came of a plain call, in words and to the last bit."""
    if outcome.raised is not None:
        said = f"raises {type(outcome.raised).__name__}: {first_line(outcome.raised)}"
        return said, str(outcome.raised)
    if not isinstance(outcome.returned, Tensor):
        return f"gives a {type(outcome.returned).__name__}", None
    x = outcome.returned.detach()
    return f"gives {list(x.shape)} {x.dtype}", _octets(x).cpu().numpy().tobytes()
