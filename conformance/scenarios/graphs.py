"""The call captured in a CUDA graph, and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from conformance.calling import Outcome, watch
from conformance.presentation import Presented, present
from conformance.scenarios.called import Called
from conformance.scenarios.contents import negated, other, overwrite, rescaled
from conformance.scenarios.seen import Seen, odd, owes_bits, settle
from conformance.tiers import Judgement
from conformance.trial import Trial

CUDA: Any = torch.cuda
WARM_UP = 3


@dataclass(frozen=True)
class Captured:
    """Calls in a graph: their operands, and where their results are after each replay."""

    graph: Any
    presented: Sequence[Presented]
    results: Sequence[object]

    def replay(self) -> object:
        """The first result; before, all of them are NaN, so that what is not written shows."""
        with torch.inference_mode():  # what a kernel made in this mode can be written to in no other
            for result in self.results:
                if isinstance(result, Tensor):
                    result.fill_(torch.nan)
        self.graph.replay()
        return self.results[0]

    def replayed(self, base: Called) -> Outcome:
        """What a replay does with the operands of ``base`` in place of those before."""
        overwrite(self.presented[0], base.trial.operands)
        return self.outcomes(base.trial)[0]

    def outcomes(self, trial: Trial) -> list[Outcome]:
        """What one replay did, product by product."""
        replayed = watch(self.replay, self.presented[0], trial.problem)
        rest = zip(self.presented[1:], self.results[1:], strict=True)
        return [replayed, *(watch(partial(_as_it_is, came), shown, trial.problem) for shown, came in rest)]


def _as_it_is(came: object) -> object:
    return came


def graph_replay(first: Called) -> Judgement:
    """Capture one call; replay it with its operands and with others behind the same pointers."""
    second = other(first.trial)
    third = rescaled(second)
    bases = {
        "replayed": first,
        "replayed with other data and scales": Called.of(second),
        "replayed with other scales alone": Called.of(third),
        "replayed with other data alone": Called.of(negated(third)),
        "replayed with the first data and scales again": first,
    }
    verdicts = (odd(f"not {label} but called", base) for label, base in bases.items())
    captured = next(filter(None, verdicts), None) or _capture([first])
    if isinstance(captured, Judgement):
        return captured
    seen = (Seen(label, base, captured.replayed(base)) for label, base in bases.items())
    return settle(first, seen, owed=owes_bits(first.trial))


def graph_pair(first: Called) -> Judgement:
    """Capture two calls with different contents in one graph and replay it twice."""
    second = Called.of(other(first.trial))
    captured = odd("with other contents", second) or _capture([first, second])
    if isinstance(captured, Judgement):
        return captured
    return settle(first, _pairs(captured, (first, second)), owed=owes_bits(first.trial))


def _pairs(captured: Captured, bases: Sequence[Called]) -> Iterator[Seen]:
    for replay in ("first", "second"):
        for i, outcome in enumerate(captured.outcomes(bases[0].trial)):
            yield Seen(f"product {i + 1} in the {replay} replay", bases[i], outcome)


def _capture(bases: Sequence[Called]) -> Captured | Judgement:
    """The calls of ``bases`` in one graph, or the verdict on an exception or on damage on the way."""
    trial = bases[0].trial
    presented = [present(base.trial.operands) for base in bases]
    graph, results = CUDA.CUDAGraph(), []

    def record() -> None:
        for shown in presented:
            results.append(trial.assignment.backend.apply(shown.tensors, trial.problem))

    def capture() -> None:
        _warm_up(record, trial.device)
        results.clear()
        with CUDA.graph(graph):
            record()

    outcome = _watched(capture, presented, trial)
    if outcome.raised is None and not outcome.damage:
        return Captured(graph, presented, results)
    return trial.judge(outcome)


def _watched(capture: Callable[[], None], presented: Sequence[Presented], trial: Trial) -> Outcome:
    """See what capturing does. One that fails leaves its stream the current one, which is put right here."""
    with CUDA.device(trial.device):
        home = CUDA.current_stream()
        outcome = watch(capture, presented[0], trial.problem)
        CUDA.set_stream(home)
    damage = next(filter(None, (shown.damage() for shown in presented)), None)
    return replace(outcome, damage=damage)


def _warm_up(record: Callable[[], None], device: torch.device) -> None:
    """Call on a side stream, as graphs want it, so that nothing is initialised while capturing."""
    home, side = CUDA.current_stream(device), CUDA.Stream(device)
    side.wait_stream(home)
    with CUDA.stream(side):
        for _ in range(WARM_UP):
            record()
    home.wait_stream(side)
