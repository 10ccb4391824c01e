"""How long calls take: warm, in turns, medians of rounds, each call on operands that no cache still holds."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import ceil

import torch

from conformance.calling import synchronise
from conformance.foreign import attempt, error_line

Call = Callable[[int], object]
"""One call on the copy of the operands with this number."""

ROUNDS = 5
LEAST = 2e-3
"""Seconds that a round takes at least: far beyond the resolution of every clock."""
MOST_COPIES = 64
CACHES = 2.0
"""Bytes that lie between two uses of a copy, in sizes of the last cache."""


@dataclass(frozen=True)
class Timing:
    """Seconds a call. ``called`` one after the other from Python; ``replayed`` from a graph, where that is possible.

    Small products are launched more slowly than they are computed: the first is what an eager program waits for, the
    second what the device does.
    """

    called: float
    replayed: float | None = None

    @property
    def device(self) -> float:
        """The seconds that are nearest to what the device alone takes."""
        return self.called if self.replayed is None else self.replayed


@dataclass
class _Runner:
    """One subject: runs of ``calls`` calls each, and what they took."""

    run: Callable[[], object]
    calls: int
    seconds: list[float]


def copies_for(nbytes: int, device: torch.device) -> int:
    """How many copies of operands of ``nbytes`` keep the last cache of ``device`` from holding any for the next use."""
    cache = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0) if device.type == "cuda" else 0
    return min(MOST_COPIES, max(1, ceil(CACHES * cache / max(nbytes, 1)) + 1)) if cache else 1


def measure(
    subjects: Mapping[str, Call], copies: int, device: torch.device, *, replays: bool = True
) -> dict[str, Timing]:
    """The timing of every subject on ``copies`` of its operands; they take turns, so that drift hits all alike.

    One that raises is left out, with a sentence on stderr. Without ``replays`` no graph is tried.
    """
    runners: dict[tuple[str, bool], _Runner] = {}
    for name, call in subjects.items():
        turn = partial(_turn, call, copies)
        warm = attempt(partial(_seconds, turn, device))
        if warm.error is not None:
            _left_out(name, warm.error)
            continue
        once = _seconds(turn, device)
        runners[name, False] = _runner(turn, once, copies)
        if replays and (graph := _captured(turn, device)):
            runners[name, True] = _runner(graph.replay, once, copies)
    for _ in range(ROUNDS):
        for key in tuple(runners):
            runner = runners[key]
            done = attempt(partial(_seconds, runner.run, device))
            if done.value is None:
                _left_out(key[0], done.error)
                del runners[key]
            else:
                runner.seconds.append(done.value / runner.calls)
    medians = {key: statistics.median(runner.seconds) for key, runner in runners.items()}
    return {name: Timing(medians[name, False], medians.get((name, True))) for name, replayed in medians if not replayed}


def _turn(call: Call, copies: int) -> None:
    for copy in range(copies):
        call(copy)


def _runner(turn: Callable[[], object], once: float, copies: int) -> _Runner:
    turns = max(1, ceil(LEAST / max(once, 1e-9)))

    def run() -> None:
        for _ in range(turns):
            turn()

    return _Runner(run, turns * copies, [])


def _captured(turn: Callable[[], object], device: torch.device) -> torch.cuda.CUDAGraph | None:
    """A graph of one turn, or None where there are no graphs or a kernel cannot be captured."""
    if device.type != "cuda":
        return None
    graph = torch.cuda.CUDAGraph()

    def capture() -> None:
        with torch.cuda.graph(graph):
            turn()

    done = attempt(capture)
    synchronise(device)
    return graph if done.error is None else None


def _seconds(action: Callable[[], object], device: torch.device) -> float:
    """Seconds that ``action`` takes, by the device's own clock where it has one."""
    synchronise(device)
    if device.type != "cuda":
        started = time.perf_counter()
        action()
        synchronise(device)
        return time.perf_counter() - started
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    action()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1e3


def _left_out(name: str, error: BaseException | None) -> None:
    sys.stderr.write(f"{name}: not timed: {error_line(error) if error else 'no time came'}\n")
