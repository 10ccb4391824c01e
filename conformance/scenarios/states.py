"""Many calls, and what surrounds them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from conformance.scenarios.batches import batch_invariance
from conformance.scenarios.called import Called
from conformance.scenarios.compiling import compiled
from conformance.scenarios.faking import faked
from conformance.scenarios.graphs import graph_pair, graph_replay
from conformance.scenarios.memory import churn, kept_results, last_rows_edited, same_pointers
from conformance.scenarios.repeating import interleaved, repeat
from conformance.scenarios.streams import behind_producer, second_stream
from conformance.scenarios.strides import restrided
from conformance.scenarios.surroundings import watch_surroundings
from conformance.tiers import Judgement
from conformance.trial import Finding, Trial

Step = Callable[[Called], Judgement]
State = Callable[[Trial], Finding]


def perform_state(trial: Trial) -> Finding:
    """Call again and again under the circumstances that the scenario names."""
    return STATES[trial.assignment.case.scenario.name](trial)


def _after_a_plain_call(step: Step) -> State:
    """``step`` where a plain call computes rightly, and the verdict on that call where it does not."""

    def perform(trial: Trial) -> Finding:
        first = Called.of(trial)
        judgement = first.judgement if first.output is None else step(first)
        return Finding.of(judgement, first.outcome)

    return perform


def _on_cuda(step: Step) -> State:
    """The same where torch has the streams and graphs of CUDA or ROCm."""

    def perform(trial: Trial) -> Finding:
        if trial.device.type == "cuda":
            return _after_a_plain_call(step)(trial)
        scenario = trial.assignment.case.scenario
        return Finding(Judgement("unsupported", f"{scenario.prefix} needs CUDA or ROCm, not {trial.device.type}"))

    return perform


STATES: dict[str, State] = {
    "repeat": _after_a_plain_call(repeat),
    "interleaved": _after_a_plain_call(interleaved),
    "churn": _after_a_plain_call(churn),
    "kept-results": _after_a_plain_call(kept_results),
    "same-pointers": _after_a_plain_call(same_pointers),
    "edited": _after_a_plain_call(last_rows_edited),
    "restrided": restrided,
    "surroundings": watch_surroundings,
    "batch-invariance": _after_a_plain_call(batch_invariance),
    "compiled": compiled,
    "compiled-autotune": partial(compiled, mode="max-autotune-no-cudagraphs"),
    "fake": faked,
    "second-stream": _on_cuda(second_stream),
    "behind-producer": _on_cuda(behind_producer),
    "graph-replay": _on_cuda(graph_replay),
    "graph-pair": _on_cuda(graph_pair),
}
"""How each state of `cases.scenarios` is brought about, by its name."""
