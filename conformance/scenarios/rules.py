"""A raw call of torch's own APIs with one thing spoiled: what came, when, and whether all is well afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from conformance.backends.raw import RawCall, raw_call
from conformance.bands import octets
from conformance.calling import Outcome, share_memory, watch
from conformance.foreign import error_line, first_line
from conformance.judge import judge
from conformance.presentation import present
from conformance.scenarios.promptness import occupy_gpu, waits_for_nothing
from conformance.scenarios.remaining import what_is_left
from conformance.scenarios.spoiling import SPOILS
from conformance.tiers import Judgement, failed
from conformance.trial import Finding, Trial


def perform_rule(trial: Trial) -> Finding:
    """Call as usual, spoiled, and as usual again."""
    before = _attempt(trial.call)
    presented, api = present(trial.operands), trial.assignment.backend.api
    assert api is not None
    raw = SPOILS[trial.assignment.case.scenario.name](raw_call(api, presented.tensors, trial.problem.out_dtype))
    pristine = {name: octets(x).clone() for name, x in _untouchable(raw).items()}
    outcome = _settled(_attempt(lambda: watch(raw, presented, trial.problem)), raw.more.get("out"))
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


def _settled(outcome: Outcome, out: Tensor | None) -> Outcome:
    """The outcome with what is wrong about a result that is not the ``out`` which was given."""
    returned = outcome.returned
    if out is None or not isinstance(returned, Tensor) or share_memory(returned, (out,)):
        return outcome
    return replace(outcome, unused="another tensor than `out` came back")


def _judge(trial: Trial, raw: RawCall, outcome: Outcome) -> Judgement:
    """The verdict on the spoiled call: values are held to the product of what was handed over, bias included."""
    assignment = trial.assignment
    case, evidence = assignment.case, trial.evidence
    if outcome.raised is None:
        case, evidence = what_is_left(case, evidence, raw)
    return judge(case, evidence, assignment.promise, assignment.claim, outcome)


def _untouchable(raw: RawCall) -> dict[str, Tensor]:
    out = raw.more.get("out")
    return raw.inputs if out is None else {**raw.inputs, "out": out}


def _changed(raw: RawCall, pristine: dict[str, Tensor], outcome: Outcome) -> Judgement | None:
    """An argument that is not what it was; an `out` is written where nothing was refused."""
    for name, x in _untouchable(raw).items():
        if not torch.equal(octets(x), pristine[name]) and (name != "out" or outcome.raised is not None):
            return failed("memory-changed", f"the argument {name} was written to")
    return None


def _late(raw: RawCall, outcome: Outcome) -> Judgement | None:
    """A refusal that waits for the device, on which something was launched before it then.

    The stream is kept busy meanwhile: whoever asks the device gets no answer before that has ended.
    """
    if outcome.raised is None or raw.A.device.type != "cuda" or waits_for_nothing(raw, occupy_gpu):
        return None
    return failed("refused-late", f"{first_line(outcome.raised)} came when the device had done all its work")


def _unlike(before: Outcome, after: Outcome) -> Judgement | None:
    """A plain call that is not answered as it was before the spoiled one."""
    one, other = _answer(before), _answer(after)
    if one == other:
        return None
    return failed("later-call-changed", f"a plain call {other[0]} after it, and {one[0]} before it")


def _answer(outcome: Outcome) -> tuple[str, object]:
    """What came of a plain call, in words and to the last bit."""
    if outcome.raised is not None:
        said = f"raises {error_line(outcome.raised)}"
        return said, str(outcome.raised)
    if not isinstance(outcome.returned, Tensor):
        return f"gives a {type(outcome.returned).__name__}", None
    x = outcome.returned.detach()
    return f"gives {list(x.shape)} {x.dtype}", octets(x).cpu().numpy().tobytes()
