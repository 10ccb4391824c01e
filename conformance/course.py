"""How far a run is: what was judged, what is at work, what is left and how long that takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from cases import parse_case
from cases.strategies import EXAMPLES
from conformance.hooks import Key
from conformance.shards.share import cost_of
from conformance.terminal import HEADS, STYLES, Piece

EARLY_SECONDS, EARLY_SHARE = 5.0, 0.05
"""Before that many seconds and that share of the cases, nothing is said of the time left."""

RANKS = {"passed": 4, "rejected": 6, "known-deviation": 7, "unsupported": 8}
"""When a count leaves a line that is too narrow; what is wrong stays longest."""


class Course:
    """The course of a run over ``keys``, which began judging at ``started`` (seconds of any clock).

    ``kept`` are the verdicts that there were before, which say nothing of the time that others take.
    """

    def __init__(self, keys: Sequence[Key], started: float, kept: Mapping[Key, str] = MappingProxyType({})) -> None:
        self._open = {key: weight_of(key[1]) for key in keys if key not in kept}
        self._started = started
        self._weight = sum(self._open.values())
        self._open_weight = self._weight
        self.total = len(keys)
        self._verdicts = dict(kept)
        self.at_work = ""

    @property
    def done(self) -> int:
        """How many cases were judged."""
        return self.total - len(self._open)

    def judged(self, key: Key, verdict: str) -> None:
        """Count the ``verdict`` on the case ``key``, in the place of an earlier one."""
        self._open_weight -= self._open.pop(key, 0.0)
        self._verdicts[key] = verdict

    def left(self, now: float) -> float | None:
        """Seconds until the end, by the rate so far; None while that would be a guess."""
        elapsed, share = now - self._started, self.done / max(self.total, 1)
        judged = self._weight - self._open_weight
        if elapsed < EARLY_SECONDS or share < EARLY_SHARE or not self._open or not judged:
            return None
        return elapsed * self._open_weight / judged

    def pieces(self, now: float, elapsed: float) -> Iterator[Piece]:
        """The line that says so, at the time ``now`` and ``elapsed`` seconds after the command began."""
        yield Piece(f"{self.done}/{self.total}", 0)
        counts = Counter(self._verdicts.values())
        for verdict, head in HEADS.items():
            if counts[verdict]:
                yield Piece(f"{counts[verdict]} {head}", RANKS.get(verdict, 1), STYLES.get(verdict, ""))
        yield Piece(self.at_work if self._open else "", 5)
        yield Piece(clock(elapsed), 3)
        left = self.left(now)
        yield Piece("" if left is None else f"~{clock(left)} left", 2)


@cache
def weight_of(id_: str) -> float:
    """How long the case takes, in units of one without a product worth mentioning."""
    try:
        return cost_of(parse_case(id_).macs)
    except ValueError:
        return EXAMPLES  # a batch of generated cases, which are small


def clock(seconds: float) -> str:
    """``seconds`` as a clock shows them: ``0:07``, ``12:30``, ``1:02:03``."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"
