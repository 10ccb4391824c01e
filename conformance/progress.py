"""What `conformance run` shows on stderr while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TextIO

import pytest

from conformance.course import Course, clock
from conformance.hooks import Key
from conformance.items import check_of_id, key_of
from conformance.progress_display import Display, LiveLine, LogLines, beside_capture
from conformance.terminal import HEADS, STYLES, Piece, is_live, plain
from conformance.verdict_rows import check_of

FAILURES = 10
"""Failing cases that are shown when they happen; more are only counted."""


class Progress:
    """A pytest plugin of the controller that shows on ``stream`` how far the session is, from the first second on."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._given, self._stream = stream, beside_capture(stream)
        self._now = now
        self._began = now()
        self._phase = "starting"
        self._course: Course | None = None
        self._failures = 0
        self._kept: dict[Key, str] = {}
        self._display: Display = (
            LiveLine(self._stream, self._pieces) if is_live(stream) else LogLines(self._stream, self._pieces, now)
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.close()
        self._stream.flush()
        if self._stream is not self._given:
            self._stream.close()

    def _pieces(self) -> Sequence[Piece]:
        elapsed = self._now() - self._began
        if self._course is None:
            return Piece(self._phase, 0), Piece(clock(elapsed), 1)
        return list(self._course.pieces(self._now(), elapsed))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Say what takes the next seconds."""
        self._phase = "planning"

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, specs: Sequence[object]) -> None:
        """Say what takes the next seconds."""
        self._phase = f"starting {len(specs)} workers"

    def pytest_conformance_planned(self, keys: list[Key]) -> None:
        """Begin to count."""
        self._course = Course(keys, self._now(), self._kept)
        self._display.show(self._course.done / self._course.total)

    def pytest_conformance_kept(self, lines: list[dict[str, Any]]) -> None:
        """Note what an earlier run has judged; what failed then is shown at the end only."""
        self._kept = {(line["backend"], line["id"]): line["verdict"] for line in lines}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note what is at work."""
        key = key_of(nodeid)
        if key and self._course:
            self._course.at_work = check_of({"check": check_of_id(key[1])})

    def pytest_conformance_judged(self, line: dict[str, Any]) -> None:
        """Count the case, and show it where it failed."""
        if self._course is None:
            return
        self._course.judged((line["backend"], line["id"]), line["verdict"])
        if STYLES.get(line["verdict"]) == STYLES["failed"]:
            self._failed(line)
        self._display.show(self._course.done / self._course.total)

    def pytest_conformance_withdrawn(self, line: dict[str, Any]) -> None:
        """Show a failure that was found out afterwards."""
        if self._course is not None:
            self._course.judged((line["backend"], line["id"]), line["verdict"])
            self._failed(line)

    def _failed(self, line: dict[str, Any]) -> None:
        self._failures += 1
        if self._failures <= FAILURES:
            said = " ".join((HEADS[line["verdict"]], line["reason"], line["backend"], line["id"]))
            self._display.say(plain(said), STYLES["failed"])
        elif self._failures == FAILURES + 1:
            self._display.say("more failures are only counted")
