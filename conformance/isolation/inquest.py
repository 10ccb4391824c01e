"""What a case has to do with the death of the process that it ran in: found out by running it again, alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.hooks import Key
from conformance.isolation.alone import Ran, Terms, run_alone
from conformance.isolation.death import Death
from conformance.isolation.keeper import Keeper
from conformance.items import bare

if TYPE_CHECKING:
    from conformance.session import Session

Line = dict[str, Any]
HISTORY = 256
"""Cases, at most, that a process has run before its death and among which a cause of it is looked for."""
LINGER = 2.0
"""Seconds that a process is given to die after its last case."""


@dataclass(frozen=True)
class Ruling:
    """The ``line`` of the case; that of the case ``before`` it, where that was judged too well; what is to be said."""

    line: Line
    before: Line | None = None
    said: str = ""


@dataclass(frozen=True)
class Inquest:
    """Where cases are run again, and on which terms: see `run_alone`."""

    session: Session
    folder: Path
    keeper: Keeper
    timeout: float
    workers: int

    def into(self, death: Death, key: Key) -> Ruling:
        """What to record of the case ``key``, which was at work, or the next to be, when its process met ``death``."""
        before = [each for each in death.page.before if each != key]
        is_guilty = death.is_its_own and key in (death.page.at_work, *death.page.before[-1:])
        if is_guilty and not before:
            return Ruling(self._guilty(key, death, "the process had run nothing else"))
        # Alone; and then after the one before it, in case that left something behind.
        ran = self._run([key, before[-1], key] if before else [key])
        if ran.death is None:
            return self._once(death, key, ran.lines[0], is_guilty, before)
        if not ran.death.page.is_open:
            return Ruling(bare(key, "error", "harness", f"it cannot be run alone: {ran.death.sentence}"))
        if not ran.lines:
            return Ruling(self._guilty(key, ran.death, "it was run alone in a fresh process"))
        how = f"it was run in a fresh process with {_told(key)}, which passes there alone"
        return Ruling(ran.lines[0], self._guilty(before[-1], ran.death, how))

    def _once(self, death: Death, key: Key, line: Line, is_guilty: bool, before: Sequence[Key]) -> Ruling:
        """It did not happen again: what others may have done is forgotten, what the process did itself is not."""
        found = self._that_began_it(death, key, before[-HISTORY:])
        if found is not None:
            how = f"with it before {_told(key)} a fresh process ends so, too, and without it none does"
            return Ruling(line, self._guilty(found, death, how))
        how = "it happened once, and not when the case was run again in a fresh process"
        if is_guilty:
            return Ruling(self._guilty(key, death, how))
        if death.is_its_own and before:
            return Ruling(line, self._guilty(before[-1], death, how))
        return Ruling(line, said=f"a worker was lost ({death.sentence}), and {_told(key)} was run again in another one")

    def _that_began_it(self, death: Death, key: Key, before: Sequence[Key]) -> Key | None:
        """The case ``before`` without which ``death`` does not come again: it may come long after its cause."""

        def dies_from(first: int) -> bool:
            again = self._run([*before[first:], key], linger=LINGER).death
            return again is not None and (again.reason, again.is_its_own) == (death.reason, True)

        if death.reason != "process-died" or not death.is_its_own or not before or not dies_from(0):
            return None
        first, last = 0, len(before)
        while last - first > 1:
            middle = (first + last) // 2
            first, last = (middle, last) if dies_from(middle) else (first, middle)
        return before[first]

    def _run(self, keys: Sequence[Key], linger: float = 0.0) -> Ran:
        how = Terms(self.timeout, self.workers, linger)
        return run_alone(self.session.request, keys, how, folder=self.folder, keeper=self.keeper)

    def _guilty(self, key: Key, death: Death, how: str) -> Line:
        drawn = death.page.drawn if key == death.page.at_work else ""
        return self.session.failed(key, death.reason, f"{death.sentence} ({how})", drawn=drawn).to_json()


def _told(key: Key) -> str:
    return f"{key[1]} on {key[0]}"
