"""How a run ends before its time: by a person, or by a fault of the harness. Each is a sentence and an exit code."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import pytest


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
    """A pytest plugin of `conformance run` that hears what ends the session, in the place of pages of traceback."""

    def __init__(self) -> None:
        self.broke = ""
        self.cut = False
        self.misuse = ""
        self.has_begun = False

    def pytest_conformance_misused(self, sentence: str) -> None:
        """Note what is wrong with the call."""
        self.misuse = sentence

    def pytest_conformance_began(self, header: dict[str, Any]) -> None:
        """Note that there is a report of this run, in the place of any earlier one."""
        self.has_begun = True

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
