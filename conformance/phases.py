"""Where the time of a process goes: seconds by phase, each without those of the phases that lie in it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

Phase = Literal["operands", "right values", "kernel", "judging", "diagnosis", "suite"]
PHASES: Mapping[Phase, str] = {
    "operands": "input bytes made, proven and laid out",
    "right values": "exact result, bound and reference",
    "kernel": "calls of what is judged",
    "judging": "results compared, emulated and digested",
    "diagnosis": "wrong results located and named",
    "suite": "everything else: pytest, records, watchdog, canary",
}


class Stopwatch:
    """Seconds by phase. What lies in no phase is the suite's own."""

    def __init__(self) -> None:
        self._seconds: dict[Phase, float] = {}
        self._now: Phase = "suite"
        self._since = time.perf_counter()

    @contextlib.contextmanager
    def during(self, phase: Phase) -> Iterator[None]:
        """Count what is done to ``phase``, and not to the one around it."""
        around = self._switch(phase)
        try:
            yield
        finally:
            self._switch(around)

    def _switch(self, phase: Phase) -> Phase:
        now, was = time.perf_counter(), self._now
        self._seconds[was] = self._seconds.get(was, 0.0) + now - self._since
        self._now, self._since = phase, now
        return was

    def taken(self) -> dict[Phase, float]:
        """The seconds since this was last asked for."""
        self._switch(self._now)
        seconds, self._seconds = self._seconds, {}
        return seconds


STOPWATCH = Stopwatch()
"""That of this process."""
during = STOPWATCH.during


def added(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The sums of ``parts``, in the order of `PHASES`."""
    sums: dict[str, float] = {}
    for part in parts:
        for phase, seconds in part.items():
            sums[phase] = sums.get(phase, 0.0) + seconds
    return {phase: sums[phase] for phase in PHASES if phase in sums}


def told(seconds: Mapping[str, float], cases: int) -> str:
    """The ``seconds`` of ``cases`` in a line."""
    total = sum(seconds.values())
    if not cases or not total:
        return ""
    shares = ", ".join(f"{phase} {seconds[phase] / total:.0%}" for phase in PHASES if seconds.get(phase, 0) > 0)
    own = 1e3 * seconds.get("suite", 0.0) / cases
    return f"time: {1e3 * total / cases:.0f} ms a case: {shares} ({own:.1f} ms a case)"
