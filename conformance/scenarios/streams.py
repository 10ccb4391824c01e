"""Work on streams: another one than the default, and right behind the kernels that make the operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from conformance.calling import Outcome, watch
from conformance.presentation import Presented, present
from conformance.scenarios.called import Called
from conformance.scenarios.contents import other
from conformance.scenarios.seen import Seen, form, odd, owes_bits, settle
from conformance.soiling import soil
from conformance.tiers import Judgement
from conformance.trial import Trial

CUDA: Any = torch.cuda
LONG, SHORT = 20_000_000, 2_000_000
"""Cycles for which a stream is held up: about ten milliseconds, about one."""
ROUNDS = 20


def second_stream(first: Called) -> Judgement:
    """Call on a side stream: behind work of the default stream, beside such work, and behind work of its own."""
    seen = [one for way in WAYS for one in _on_side(first, way)]
    return settle(first, seen, owed=owes_bits(first.trial))


Way = Literal["behind the default stream", "beside a busy default stream", "behind a producer of its own"]
WAYS: tuple[Way, ...] = get_args(Way)


def _on_side(first: Called, way: Way) -> list[Seen]:
    """What the call did: at last, and as the stream saw it that it was made on."""
    trial = first.trial
    early: list[object] = []
    presented = present(trial.operands)

    def on_side() -> object:
        side = CUDA.Stream(trial.device)
        _prepare(way, presented, side)
        with CUDA.stream(side):
            if way == "behind a producer of its own":
                _produce(presented)
            came = trial.assignment.backend.apply(presented.tensors, trial.problem)
            early.append(came.clone() if isinstance(came, Tensor) else came)
            side.synchronize()
        return came

    outcome = watch(on_side, presented, trial.problem)
    label = f"on a side stream {way}"
    return [Seen(label, first, outcome), *(Seen(f"{label}, as it saw the result", first, Outcome(c)) for c in early)]


def _prepare(way: Way, presented: Presented, side: Any) -> None:
    """What happens on the current stream; ``side`` waits for all but the work that is none of its business."""
    home = CUDA.current_stream(side.device)
    if way != "beside a busy default stream":
        for band in presented.bands:
            band.buffer[band.payload].zero_()
    if way == "behind the default stream":
        _produce(presented)
    side.wait_stream(home)
    if way == "beside a busy default stream":
        CUDA._sleep(LONG)


def _produce(presented: Presented) -> None:
    """Write the operands, late."""
    CUDA._sleep(LONG)
    _restore(presented)


def _restore(presented: Presented) -> None:
    for band in presented.bands:
        band.buffer.copy_(band.pristine)


def behind_producer(first: Called) -> Judgement:
    """Call right behind slow kernels that write the operands, again and again with alternating contents."""
    second = Called.of(other(first.trial))
    verdict = odd("with other contents", second)
    if verdict is not None:
        return verdict
    assert first.output is not None
    bases = (second, first)
    kept = first.output.new_empty((ROUNDS, *first.output.shape))
    presented, staged = present(first.trial.operands), [present(base.trial.operands) for base in bases]
    outcome = watch(lambda: _chase(first.trial, presented, staged, kept), presented, first.trial.problem)
    seen = [Seen(f"in {ROUNDS} rounds", first, outcome)]
    if outcome.raised is None and not outcome.damage:
        seen += [Seen(f"in round {i + 1}", bases[i % 2], Outcome(came)) for i, came in enumerate(kept)]
    return settle(first, seen, owed=owes_bits(first.trial))


def _chase(trial: Trial, presented: Presented, staged: Sequence[Presented], kept: Tensor) -> object:
    """Results of all rounds; the last contents are those that the operands had at first."""
    came: object = None
    for i, place in enumerate(kept):
        soil(trial.problem, trial.device, blocks=1)
        CUDA._sleep(SHORT)
        for band, source in zip(presented.bands, staged[i % 2].bands, strict=True):
            band.buffer.copy_(source.buffer)
        came = trial.assignment.backend.apply(presented.tensors, trial.problem)
        if not isinstance(came, Tensor) or form(came) != form(place):
            _restore(presented)
            return came
        place.copy_(came)
    return came
