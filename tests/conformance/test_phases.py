"""Where the time goes, by a clock that a test sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance import phases
from conformance.phases import PHASES, Stopwatch, added, told

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, to be moved."""
    now = [0.0]
    monkeypatch.setattr(phases.time, "perf_counter", lambda: now[0])
    return now


def test_a_phase_does_not_count_those_within_it(clock: list[float]) -> None:
    watch = Stopwatch()
    clock[0] += 1
    with watch.during("judging"):
        clock[0] += 10
        with watch.during("kernel"):
            clock[0] += 100
        clock[0] += 10
    clock[0] += 1

    assert watch.taken() == {"suite": 2, "judging": 20, "kernel": 100}
    assert watch.taken() == {"suite": 0}


def test_a_phase_ends_where_something_is_raised(clock: list[float]) -> None:
    watch = Stopwatch()

    @watch.during("kernel")
    def breaks() -> None:
        clock[0] += 3
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        breaks()
    clock[0] += 4

    assert watch.taken() == {"kernel": 3, "suite": 4}


def test_sums_stand_in_the_order_of_the_phases_and_know_no_others() -> None:
    parts = ({"suite": 1.0, "kernel": 2.0}, {"kernel": 3.0, "mine": 4.0}, {})

    assert list(added(parts).items()) == [("kernel", 5.0), ("suite", 1.0)]


def test_what_it_took_is_told_in_a_line() -> None:
    line = told({"kernel": 3.0, "suite": 1.0, "diagnosis": 0.0}, 1000)

    assert line == "time: 4 ms a case: kernel 75%, suite 25% (1.0 ms a case)"
    assert told({}, 10) == told({"kernel": 1.0}, 0) == ""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_report_has_the_seconds_of_its_cases_from_every_process(
    workers: str, tmp_path: Path, command: Command
) -> None:
    asked = ("--backend", "native", "--device", "cpu", "-k", "m83-n272-k640 and gemm", "-n", workers)
    _, out, _ = command("run", *asked, "--report", tmp_path)
    *lines, footer = [json.loads(text) for text in (tmp_path / "report.jsonl").read_text().splitlines()]
    seconds = footer["seconds"]
    judged = sum(line.get("seconds", 0.0) for line in lines[1:])

    assert set(seconds) <= set(PHASES)
    assert all(seconds[phase] > 0 for phase in ("operands", "right values", "kernel", "judging", "suite"))
    # Records have what a case took; the phases of the judge come to the same, and the suite's is beside them.
    assert sum(seconds.values()) - seconds["suite"] == pytest.approx(judged, rel=0.2)
    assert "\ntime: " in out
