"""How a run ends before its time: by a person, or by a fault of the harness. Each is a sentence and an exit code."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""What ends a process politely; not every system has all of them."""


def say(sentence: str) -> None:
    """Print ``sentence`` on stderr, where that can be written at all."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"conformance: {sentence}\n")
        sys.stderr.flush()


class RunEndedError(Exception):
    """The session cannot go on: the message is the sentence that says why."""


def what_broke(error: BaseException) -> str:
    """One line: what went wrong in the harness, and where."""
    if isinstance(error, RunEndedError):
        return str(error)
    frame, place = error.__traceback__, ""
    while frame is not None:
        place = f" ({Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno})"
        frame = frame.tb_next
    said = " ".join(str(error).split())[:300]
    return f"the harness failed outside of any case: {type(error).__name__}{said and f': {said}'}{place}"


class Endings:
    """A pytest plugin of `conformance run` that hears what ends the session, in the place of pages of traceback.

    ``heard`` are the signals that `interruptible` heard.
    """

    def __init__(self, heard: Sequence[int]) -> None:
        self.broke = ""
        self.cut = False
        self.misuse = ""
        self.has_begun = False
        self._heard = heard

    def pytest_conformance_misused(self, sentence: str) -> None:
        """Note what is wrong with the call."""
        self.misuse = sentence

    def pytest_conformance_began(self, header: dict[str, Any]) -> None:
        """Note that there is a report of this run, in the place of any earlier one."""
        self.has_begun = True

    def pytest_runtest_logstart(self) -> None:
        """End the session where its end was asked for and got lost: what a callback of C raises goes nowhere."""
        if self._heard:
            raise KeyboardInterrupt

    def hear(self, error: BaseException) -> None:
        """Note the first ``error`` of the harness."""
        self.broke = self.broke or what_broke(error)

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> bool:
        """Note it; pytest, which asks whether anybody did, prints nothing then."""
        self.hear(excinfo.value)
        return True

    def pytest_keyboard_interrupt(self) -> None:
        """Note that the session was ended, by a person, a signal or the books: its status does not always tell."""
        self.cut = True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note why there is no plan."""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            text = str(crash.message if crash else report.longrepr).strip()
            self.broke = self.broke or f"the plan cannot be made: {(text.splitlines() or ['no text'])[-1][:300]}"


@contextlib.contextmanager
def interruptible() -> Iterator[Sequence[int]]:
    """Let the `SIGNALS` raise KeyboardInterrupt, so that the books are closed; those that came are in the list.

    Only a main thread can be asked to. What is ignored, as under ``nohup``, stays ignored.
    """
    heard: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return

    def interrupt(number: int, _frame: FrameType | None) -> None:
        heard.append(number)
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    before = {number: handler for number in numbers if (handler := signal.getsignal(number)) != signal.SIG_IGN}
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
