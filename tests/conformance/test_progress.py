"""What a run shows while it runs: counts, time left, first failures; redrawn for a person, sparse for a log."""

from __future__ import annotations

import io
import os
import pty
import re
from typing import Any

import pytest
from report_lines import line

from conformance.course import Course, clock, weight_of
from conformance.progress import FAILURES, Progress
from conformance.terminal import Piece, fit, is_live

KEYS = [("b", f"gemm/1x128-128x128/m{i}-n16-k128/fp32/uniform-codes/s0") for i in range(1, 101)]


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def time() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def _somebody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def judge(progress: Progress, key: tuple[str, str], verdict: str = "passed", **more: Any) -> None:
    progress.pytest_runtest_logstart(f"conformance/suite/test_products.py::test_product[{key[0]}/{key[1]}]")
    progress.pytest_conformance_judged(line(verdict, backend=key[0], id=key[1], **more))


def test_nothing_is_said_of_the_time_left_before_it_can_be_known(time: Clock) -> None:
    course = Course(KEYS, time())
    assert course.left(1000.0) is None
    for key in KEYS[:5]:
        course.judged(key, "passed")

    assert course.left(4.9) is None
    assert course.left(5.0) == pytest.approx(95, rel=0.02)


def test_the_time_left_weighs_large_problems(time: Clock) -> None:
    small, large = (f"gemm/1x128-128x128/m{m}-n4096-k4096/bf16/uniform-codes/s0" for m in (1, 512))
    course = Course([("b", small), ("c", small), ("b", large)], time())
    course.judged(("b", small), "passed")
    course.judged(("c", small), "passed")

    assert course.left(6.0) == pytest.approx(3 * weight_of(large) / weight_of(small))
    assert weight_of(large) / weight_of(small) > 100


def test_a_course_counts_every_case_once_and_ends_with_nothing_left(time: Clock) -> None:
    course = Course(KEYS, time())
    for key in KEYS:
        course.judged(key, "passed")

    assert (course.done, course.total, course.left(100.0)) == (100, 100, None)
    assert "left" not in " ".join(piece.text for piece in course.pieces(100.0, 100.0))


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (59.6, "1:00"), (754, "12:34"), (3723, "1:02:03")])
def test_times_are_read_as_on_a_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_pieces_leave_a_narrow_line_in_the_order_of_their_ranks() -> None:
    pieces = [Piece("12/34", 0), Piece("5 pass", 4), Piece("", 9), Piece("2 fail", 1), Piece("layouts", 5)]
    lines = ["  ".join(piece.text for piece in fit(pieces, width)) for width in (30, 29, 21, 20, 13, 12, 1)]

    assert lines == [
        "12/34  5 pass  2 fail  layouts",
        "12/34  5 pass  2 fail",
        "12/34  5 pass  2 fail",
        "12/34  2 fail",
        "12/34  2 fail",
        "12/34",
        "12/34",
    ]


@pytest.mark.parametrize(
    ("width", "state"),
    [
        (12, "4/100"),
        (40, "4/100  1 pass  1 fail  1:00:00"),
        (60, "4/100  1 pass  1 refused  1 fail  uniform-codes  1:00:00"),
        (120, "4/100  1 pass  1 refused  1 fail  1 known  uniform-codes  1:00:00"),
    ],
)
def test_the_live_line_is_never_wider_than_the_terminal(
    width: int, state: str, time: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    stream = Terminal()
    with Progress(stream, time) as progress:
        progress.pytest_conformance_planned(KEYS)
        for verdict, key in zip(("passed", "rejected", "failed", "known-deviation"), KEYS, strict=False):
            judge(progress, key, verdict, reason="wrong-values")
        time.now = 3600.0
    drawn = [text for text in re.split(r"[\r\n]+", re.sub(r"\x1b\[[\d;?]*\w", "", stream.getvalue())) if text]

    assert max(map(len, drawn)) <= width
    assert drawn[-1] == state
    assert drawn[0] == f"fail wrong-values b {KEYS[2][1]}"[: width - 1] + "…" * (width < 75)


def test_what_a_terminal_shows_in_the_end_is_what_failed(time: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is erased; rich ends with the cursor at its beginning."""
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    with Progress(stream, time) as progress:
        progress.pytest_conformance_planned(KEYS)
        judge(progress, KEYS[0], "failed", reason="raised")

    assert f"fail raised b {KEYS[0][1]}" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[2K")
    assert "\x1b[1;31mfail" in stream.getvalue()


def test_no_color_has_none(time: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    with Progress(stream, time) as progress:
        progress.pytest_conformance_planned(KEYS)
        judge(progress, KEYS[0], "failed", reason="raised")

    assert "fail raised" in stream.getvalue()
    assert not re.search(r"\x1b\[[\d;]*m", stream.getvalue().replace("\x1b[0m", "").replace("\x1b[1m", ""))


def test_a_log_gets_few_lines_and_the_last_state(time: Clock) -> None:
    stream = io.StringIO()
    with Progress(stream, time) as progress:
        time.now = 1.0
        progress.pytest_conformance_planned(KEYS)
        for key in KEYS:
            time.now += 10.0
            judge(progress, key)
    lines = stream.getvalue().splitlines()

    assert lines[0] == "0/100  0:01"
    assert re.fullmatch(r"10/100  10 pass  uniform-codes  1:41  ~15:\d\d left", lines[1])
    assert lines[-1] == "100/100  100 pass  16:41"
    assert 9 < len(lines) < 13
    assert "\x1b" not in stream.getvalue()


def test_a_short_run_leaves_two_lines_in_a_log(time: Clock) -> None:
    stream = io.StringIO()
    with Progress(stream, time) as progress:
        progress.pytest_conformance_planned(KEYS)
        for key in KEYS:
            time.now += 0.29
            judge(progress, key)

    assert stream.getvalue().splitlines() == ["0/100  0:00", "100/100  100 pass  0:29"]


def test_first_failures_are_shown_as_they_happen_and_more_only_counted(time: Clock) -> None:
    stream = io.StringIO()
    with Progress(stream, time) as progress:
        progress.pytest_conformance_planned(KEYS)
        for key in KEYS[:50]:
            judge(progress, key, "failed", reason="wrong-values")
        judge(progress, KEYS[50], "error", reason="harness")
        judge(progress, KEYS[51], "known-deviation", reason="raised")
    lines = stream.getvalue().splitlines()

    assert lines[1 : 1 + FAILURES] == [f"fail wrong-values b {id_}" for _, id_ in KEYS[:FAILURES]]
    assert lines[1 + FAILURES :] == [
        "more failures are only counted",
        "52/100  50 fail  1 error  1 known  " + lines[-1].split("  ", 4)[-1],
    ]


def test_phases_before_the_first_case_are_shown(time: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    with Progress(stream, time) as progress:
        shown = [_drawn(progress)]
        progress.pytest_sessionstart()
        shown.append(_drawn(progress))
        progress.pytest_xdist_setupnodes([object(), object()])
        time.now = 7.0
        shown.append(_drawn(progress))

    assert shown == ["starting 0:00", "planning 0:00", "starting 2 workers 0:07"]


def _drawn(progress: Progress) -> str:
    return " ".join(piece.text for piece in progress._pieces())


@pytest.mark.parametrize(
    ("variable", "value", "live"), [("CI", "true", False), ("TERM", "dumb", False), ("TERM", "xterm", True)]
)
def test_only_a_terminal_that_somebody_watches_is_drawn_on(
    variable: str, value: str, live: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)

    assert is_live(Terminal()) is live
    assert is_live(io.StringIO()) is False


def test_pytest_cannot_capture_it_and_a_full_disk_does_not_end_it(
    time: Clock, capfd: pytest.CaptureFixture[str]
) -> None:
    main, other = pty.openpty()
    with os.fdopen(other, "w") as stream, Progress(stream, time) as progress:
        saved = os.dup(other)
        with open("/dev/full", "w") as full:
            os.dup2(full.fileno(), other)
        progress.pytest_conformance_planned(KEYS)
        judge(progress, KEYS[0], "failed", reason="raised")
        os.dup2(saved, other)
        os.close(saved)
    seen = os.read(main, 65536).decode()
    os.close(main)

    assert "fail raised b" in seen
    with open("/dev/full", "w") as full, Progress(full, time) as progress:
        progress.pytest_conformance_planned(KEYS)
    assert capfd.readouterr() == ("", "")
