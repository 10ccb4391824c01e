"""Runs that go on where an earlier one stopped, and end as one that was never stopped."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_reports import Command, about, line, write

from conformance.course import EARLY_SECONDS, Course
from conformance.records import ReportLostError, ReportWriter, read_report
from conformance.request import Request
from conformance.resuming.asked import READERS, Asked
from conformance.resuming.deselecting import Deselecting
from conformance.runner import run_suite
from conformance.shards.share import Shard

HERE = Path(__file__).parent.parent
KERNEL = "ending_kernels:Counted"
CASES = [f"gemm/1x128-128x128/m{m}-n16-k128/fp32/integer-codes/s0" for m in range(3, 9)]
Line = dict[str, Any]


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the kernel notes its calls."""
    monkeypatch.setenv("COUNTED_CALLS", str(tmp_path / "calls"))
    return tmp_path / "calls"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run over `CASES`."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COUNTED_CALLS", os.devnull)
        request = Request((KERNEL,), device="cpu", cases=tuple(CASES), report=folder)
        assert run_suite(request, workers="0") == 0
    return folder


def asked(*more: str) -> list[str]:
    return ["--backend", KERNEL, "--device", "cpu", *(word for case in CASES for word in ("--case", case)), *more]


def lines_of(folder: Path) -> list[Line]:
    return [json.loads(text) for text in (folder / "report.jsonl").read_text().splitlines()]


def left(folder: Path, lines: list[Line], cut: str = "") -> Path:
    """The report of a run that stopped: these lines, and one that was ``cut``."""
    folder.mkdir()
    (folder / "report.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines) + cut)
    return folder


def timeless(lines: list[Line]) -> list[Line]:
    bare = [{**each, "seconds": 0.0} for each in lines if each["kind"] == "case"]
    return sorted(bare, key=lambda each: str(each["id"]))


def as_not_run(verdict: str, of: Line) -> Line:
    return {**of, "verdict": verdict, "reason": "", "input_digest": "", "output_digest": ""}


def interrupted(lines: list[Line], verdict: str = "not-run") -> list[Line]:
    """Two cases judged, the others not, and the books closed."""
    from conformance.conclude import Conclusion
    from conformance.records import footer

    cases = lines[1:3] + [as_not_run(verdict, of) for of in lines[3:-1]]
    return [lines[0], *cases, footer(cases, complete=False, conclusion=Conclusion(4, "cut short"))]


@pytest.mark.parametrize(
    ("manner", "cut"),
    [
        (lambda lines: lines[:3], ""),
        (lambda lines: lines[:3], '{"kind": "case", "id": "gemm/1x'),
        (interrupted, ""),
        (lambda lines: interrupted(lines, "error"), ""),
    ],
    ids=["killed", "killed within a line", "interrupted", "broken"],
)
def test_it_ends_as_a_run_that_was_never_stopped(
    manner: Callable[[list[Line]], list[Line]], cut: str, tmp_path: Path, whole: Path, calls: Path, command: Command
) -> None:
    header, *cases, footer = lines_of(whole)
    stopped = left(tmp_path / "stopped", manner([header, *cases, footer]), cut)

    code, out, err = command("run", "--resume", stopped, "--backend", KERNEL, "-n", "0")

    went_on, *after, ending = lines_of(stopped)
    assert (code, {**ending, "seconds": {}}) == (0, {**footer, "seconds": {}})
    assert timeless(after) == timeless(cases)
    assert after[:2] == cases[:2], "kept as they were, seconds too"
    assert {**went_on, "resumed": None} == {**header, "resumed": None}
    assert went_on["resumed"] == 2
    assert calls.read_text().split() == ["5", "6", "7", "8"]
    assert "going on with" in err
    assert " 2 of its cases are judged" in err
    assert "2/6" in err
    assert "6 passed" in out
    assert {"report.html", "junit.xml"} <= {*os.listdir(stopped)}


def test_a_run_that_lacks_nothing_but_its_footer_gets_it(
    tmp_path: Path, whole: Path, calls: Path, command: Command
) -> None:
    stopped = left(tmp_path / "stopped", lines_of(whole)[:-1])

    assert command("run", "--resume", stopped, "--backend", KERNEL, "-n", "0")[0] == 0
    assert {**lines_of(stopped)[-1], "seconds": {}} == {**lines_of(whole)[-1], "seconds": {}}
    assert not calls.exists()


@pytest.mark.parametrize("more", [("-k", "m3 or m5 or m8"), ("--shard", "1/2")])
def test_a_part_goes_on_as_that_part(more: tuple[str, ...], tmp_path: Path, calls: Path, command: Command) -> None:
    assert command("run", *asked(*more), "-n", "0", "--report", tmp_path / "part")[0] == 0
    header, *cases, footer = lines_of(tmp_path / "part")
    stopped = left(tmp_path / "stopped", [header, *cases[:1]])
    calls.unlink()

    assert command("run", "--resume", stopped, "--backend", KERNEL, "-n", "0")[0] == 0
    assert {**lines_of(stopped)[-1], "seconds": {}} == {**footer, "seconds": {}}
    assert {**lines_of(stopped)[0], "resumed": 1} == {**header, "resumed": 1}
    assert len(calls.read_text().split()) == len(cases) - 1 == 2


def replaced(name: str, value: object) -> Callable[[Line], Line]:
    return lambda header: {**header, name: value}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (replaced("torch", "2.0.0"), r"torch was 2\.0\.0 and is now "),
        (replaced("device_name", "NVIDIA H200"), "device_name was NVIDIA H200 and is now "),
        (replaced("backends", {"counted": {"version": "1"}}), "counted version was 1 and is now none"),
        (replaced("plan", {"cases": 6, "digest": "0"}), "plan was {'cases': 6, 'digest': '0'} and is now "),
        (replaced("selection", {"cases": 5, "digest": "0"}), "selection was {'cases': 5, 'digest': '0'} and is now "),
        (replaced("deviations", {"x": {}}), "deviations was {'x': {}} and is now {}"),
        (replaced("shard", "1+2/3"), r"shard was 1\+2/3 and is now None"),
    ],
)
def test_what_would_be_another_run_is_one_sentence_and_changes_nothing(
    change: Callable[[Line], Line], says: str, tmp_path: Path, whole: Path, calls: Path, command: Command
) -> None:
    header, *cases, _ = lines_of(whole)
    stopped = left(tmp_path / "stopped", [change(header), *cases[:2]])
    before = (stopped / "report.jsonl").read_bytes()

    code, out, err = command("run", "--resume", stopped, "--backend", KERNEL, "-n", "0")

    assert (code, out) == (2, "")
    assert re.search(f"^conformance: the run in '{stopped}' cannot go on here: {says}.*; start another run$", err, re.M)
    assert (stopped / "report.jsonl").read_bytes() == before
    assert not calls.exists()


def test_a_case_that_the_plan_lacks_is_not_kept(tmp_path: Path, whole: Path, command: Command) -> None:
    header, *cases, _ = lines_of(whole)
    stopped = left(tmp_path / "stopped", [header, *cases[:2], {**cases[0], "id": "gemm/of another plan"}])

    code, _, err = command("run", "--resume", stopped, "--backend", KERNEL, "-n", "0")

    assert (code, "selection was " in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--seed", "1"), "--seed is 1 here, and the run in '{}' was asked for 0: leave it out"),
        (("--profile", "full"), "--profile is full here, and the run in '{}' was asked for standard: "),
        (("--device", "cuda"), "--device is cuda here, and the run in '{}' was asked for cpu: "),
        (("--case", CASES[0]), f"--case is {CASES[0]} here, and the run in '{{}}' was asked for {', '.join(CASES)}: "),
        (("-k", "m3"), "-k is m3 here, and the run in '{}' was asked for none: "),
        (("--backend", "native"), f"--backend is native here, and the run in '{{}}' was asked for {KERNEL}: "),
        (("--report", "elsewhere"), "--resume {} goes on with the report in there: leave --report out"),
        ((), f"judges code that only a command line may name, and no report: add --backend {KERNEL}\n"),
    ],
)
def test_what_is_typed_beside_may_only_repeat(
    arguments: tuple[str, ...], says: str, tmp_path: Path, whole: Path, command: Command
) -> None:
    stopped = left(tmp_path / "stopped", lines_of(whole)[:3])

    code, out, err = command("run", "--resume", stopped, *arguments)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says.format(stopped) in err


@pytest.mark.parametrize("member", [{}, {"asked": {"cases": "gemm"}}, {"asked": {"seed": "0"}}, {"asked": {"new": 1}}])
def test_a_report_that_does_not_say_what_was_asked_cannot_go_on(member: Line, tmp_path: Path, command: Command) -> None:
    stopped = write(tmp_path / "stopped", about(("b", "gemm/x"), **member), line("passed"), code=None)

    code, out, err = command("run", "--resume", stopped)

    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "does not say all that its run was asked for" in err


@pytest.mark.parametrize(("verdict", "code"), [("passed", 0), ("failed", 1), ("unsupported", 4)])
def test_a_finished_report_is_told_again_and_nothing_runs(
    verdict: str, code: int, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pytest, "main", lambda *_, **__: pytest.fail("it runs"))
    header = about(("b", "gemm/x"), asked={"backends": ["nowhere.py"]})
    finished = write(tmp_path / "finished", header, line(verdict), code=code)
    before = (finished / "report.jsonl").read_bytes()

    found, out, err = command("run", "--resume", finished)

    assert (found, err) == (
        code,
        f"conformance: the run in {finished} came to its end: nothing is left of it to be run\n",
    )
    assert "what it came to" in out
    assert (finished / "report.jsonl").read_bytes() == before


def test_the_time_of_a_case_is_that_of_the_cases_that_were_left(tmp_path: Path, command: Command) -> None:
    folder = write(tmp_path / "on", about(resumed=1), line("passed", "x"), line("passed", "y"), line("passed", "z"))
    header, *cases, ending = lines_of(folder)
    timed = left(tmp_path / "timed", [header, *cases, {**ending, "seconds": {"kernel": 3.0}}])

    assert "\ntime: 1500 ms a case: kernel 100%" in command("show", timed)[1]


def test_there_has_to_be_a_report(tmp_path: Path, command: Command) -> None:
    code, _, err = command("run", "--resume", tmp_path)

    assert (code, err) == (
        2,
        f"conformance: the folder {str(tmp_path)!r} holds no report.jsonl: name the folder of a run's --report\n",
    )


def test_a_disk_without_room_leaves_the_report_that_there_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, about(), line("passed"), code=None)
    before = (tmp_path / "report.jsonl").read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    writer = ReportWriter(tmp_path, goes_on=True)
    assert (tmp_path / "report.jsonl").read_bytes() == before
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReportLostError, match="No space left on device"):
        writer.rewrite([about(), line("passed")])
    writer.close()

    assert (tmp_path / "report.jsonl").read_bytes() == before
    assert os.listdir(tmp_path) == ["report.jsonl"]


def test_what_was_asked_comes_back_from_the_header() -> None:
    lists = dict.fromkeys(("backends", "quantisers", "linears", "require", "cases"), ("a", "b"))
    paths = {"model": Path("m.json"), "baseline": Path("b"), "deviations": (Path("d.toml"),)}
    others: dict[str, Any] = {"device": "cuda:1", "profile": "full", "seed": 7, "tp": 2, "examples": 0}
    everything = Asked(Request(**lists, **paths, **others, quarantined=True, shard=Shard(2, 3)), "m3 or m4")
    told = json.loads(json.dumps(everything.to_json()))

    assert told.keys() == READERS.keys() == {field.name for field in fields(Request)} - {"report"} | {"keyword"}
    assert Asked.read({"asked": told}, Path()) == everything
    assert Asked(Request(report=Path("r"))).to_json() == {}
    assert Asked.read({"asked": {}}, Path()) == Asked(replace(Request(), report=None))


def test_workers_leave_out_what_the_controller_told_them_whatever_the_report_has_by_then() -> None:
    node, config, left_out = SimpleNamespace(workerinput={}), SimpleNamespace(hook=SimpleNamespace()), list[Any]()
    config.hook.pytest_deselected = lambda items: left_out.extend(items)
    items: list[Any] = [
        SimpleNamespace(nodeid=f"conformance/suite/test_products.py::test_product[b/gemm/{name}/s0]") for name in "xyz"
    ]
    x, y, z = items

    Deselecting([("b", "gemm/x/s0"), ("b", "gemm/y/s0")]).pytest_configure_node(node)
    told: Any = Deselecting.told(json.loads(json.dumps(node.workerinput)))
    told.pytest_collection_modifyitems(config, items)

    assert (items, left_out) == ([z], [x, y])


def test_what_was_kept_counts_and_says_nothing_of_the_time_left() -> None:
    keys = [("b", f"gemm/{i}") for i in range(4)]
    course = Course(keys, 0.0, {keys[0]: "passed", keys[1]: "failed"})

    assert (course.done, course.total) == (2, 4)
    assert course.left(EARLY_SECONDS) is None
    course.judged(keys[2], "passed")
    assert course.left(10.0) == 10.0


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that are ended if a test does not."""
    running: list[subprocess.Popen[bytes]] = []
    yield running
    for process in running:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_a_run_that_is_killed_twice_ends_as_one_that_was_not(
    tmp_path: Path, calls: Path, started: list[subprocess.Popen[bytes]]
) -> None:
    folder, kernel = tmp_path / "report", ["--backend", "ending_kernels:CountedAndLingers"]
    environment = {**os.environ, "WATCHED_REPORT": str(folder / "report.jsonl")}

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        code = f"import sys; sys.path.append({str(HERE)!r}); from conformance.cli import main; main()"
        command = [sys.executable, "-c", code, "run", *kernel, *arguments]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment, start_new_session=True)
        started.append(process)
        return process

    def kill_at(lines: int, process: subprocess.Popen[bytes]) -> None:
        report = folder / "report.jsonl"
        while not report.exists() or report.read_bytes().count(b"\n") < lines:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.kill()
        process.communicate()

    kill_at(2, start(*asked()[2:], "-n", "0", "--report", str(folder)))
    kept = read_report(folder)[1]
    kill_at(len(kept) + 2, start("--resume", str(folder), "-n", "0"))
    more = read_report(folder)[1]
    last = start("--resume", str(folder))
    out, err = last.communicate()

    header, lines, footer = read_report(folder)
    assert (last.returncode, b"6 passed" in out) == (0, True), err
    assert 1 <= len(kept) < len(more) < len(CASES)
    assert lines[: len(more)] == more
    assert more[: len(kept)] == kept
    assert header["resumed"] == len(more)
    assert footer is not None
    assert footer["counts"] == {"passed": len(CASES)}
    assert sorted(each["id"] for each in lines) == sorted(CASES)
    # What was at work when the run was killed was called, and is called again.
    assert len(CASES) <= len(calls.read_text().split()) <= len(CASES) + 3
