"""Runs that end before their time, for real: signals, a full disk, processes that die, a harness that breaks."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from report_lines import line, write

from conformance.conclude import conclusion_of
from conformance.endings import Endings, interruptible
from conformance.progress import Progress
from conformance.records import ReportLostError, ReportWriter, read_report
from conformance.request import Request
from conformance.runner import run_suite

HERE = Path(__file__).parent.parent
CASES = [f"gemm/1x128-128x128/m{m}-n16-k128/fp32/integer-codes/s0" for m in range(3, 19)]
TEMPORARY = "temporary"
ENTRY = "from conformance.cli import main; main()"


@pytest.fixture
def started(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are ended if a test does not."""
    running: list[subprocess.Popen[str]] = []
    yield running
    for process in running:
        if process.poll() is None:
            process.kill()
            process.communicate()


def start(folder: Path, *arguments: str, entry: str = ENTRY, limit: int = 0) -> subprocess.Popen[str]:
    """A run over `CASES`, in a session of its own as those of a terminal are; ``limit`` is the size of files."""
    code = f"import sys; sys.path.append({str(HERE)!r}); {entry}"
    cases = [word for case in CASES for word in ("--case", case)]
    command = [sys.executable, "-c", code, "run", *arguments, *cases, "--device", "cpu", "--report", str(folder)]

    def cut() -> None:
        # What a shell starts in the background ignores it, and so would all that is started from there.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    temporary = folder / TEMPORARY
    temporary.mkdir()
    pipe = subprocess.PIPE
    environment = {**os.environ, "WATCHED_REPORT": str(folder / "report.jsonl"), "TMPDIR": str(temporary)}
    return subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, start_new_session=True, preexec_fn=cut, env=environment
    )


def wait_for(folder: Path, lines: int, process: subprocess.Popen[str]) -> None:
    """Wait until the report has so many whole lines."""
    while process.poll() is None:
        if (folder / "report.jsonl").exists() and (folder / "report.jsonl").read_bytes().count(b"\n") >= lines:
            return
        time.sleep(0.02)
    raise AssertionError(f"ended before it had {lines} lines: {process.communicate()}")


def verdicts(folder: Path) -> list[str]:
    return [line["verdict"] for line in read_report(folder)[1]]


def children_of(process: int) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = place.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == process and state != "Z":
            found.append(int(place.parent.name))
    return found


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_ctrl_c_closes_the_books(tmp_path: Path, started: list[subprocess.Popen[str]]) -> None:
    process = start(tmp_path, "--backend", "ending_kernels:Lingers")
    started.append(process)
    wait_for(tmp_path, 3, process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()

    assert process.returncode == 4
    assert "INCONCLUSIVE: cut short, " in out
    assert "Traceback" not in err
    header, lines, footer = read_report(tmp_path)
    assert footer is not None
    assert (footer["complete"], footer["exit_code"]) == (False, 4)
    assert sorted(line["id"] for line in lines) == sorted(CASES)
    assert {"passed", "not-run"} == {*verdicts(tmp_path)}
    assert conclusion_of(header, lines, footer).sentence in out


class Finalised:
    """Gets a signal where nothing that is raised goes anywhere."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)


def test_a_signal_that_got_lost_ends_the_session_at_the_next_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with interruptible() as heard:
            Endings(heard).pytest_runtest_logstart()
            Finalised()
    finally:
        signal.signal(signal.SIGINT, before)

    with pytest.raises(KeyboardInterrupt):
        Endings(heard).pytest_runtest_logstart()


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible() as heard:
            os.kill(os.getpid(), signal.SIGHUP)
            time.sleep(0.01)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert heard == []


def test_a_worker_that_dies_is_named_and_a_terminated_run_closes_the_books(
    tmp_path: Path, started: list[subprocess.Popen[str]]
) -> None:
    process = start(tmp_path, "-n", "1", "--backend", "ending_kernels:KillsAndLingers")
    started.append(process)
    wait_for(tmp_path, 3, process)
    os.killpg(process.pid, signal.SIGTERM)
    _, err = process.communicate()

    assert process.returncode == 1
    assert "Traceback" not in err
    _, lines, footer = read_report(tmp_path)
    assert footer is not None
    assert (footer["complete"], footer["exit_code"]) == (False, 1)
    assert sorted(line["id"] for line in lines) == sorted(CASES)
    (died,) = [line for line in lines if line["verdict"] == "failed"]
    assert (died["id"], died["reason"]) == (CASES[0], "process-died")
    assert "not-run" in verdicts(tmp_path)
    assert f"fail process-died kills-and-lingers {CASES[0]}" in err


def test_a_run_that_is_killed_leaves_lines_and_no_process(tmp_path: Path, started: list[subprocess.Popen[str]]) -> None:
    process = start(tmp_path, "-n", "2", "--backend", "ending_kernels:Lingers")
    started.append(process)
    wait_for(tmp_path, 3, process)
    children = children_of(process.pid)
    process.kill()
    process.communicate()

    header, lines, footer = read_report(tmp_path)
    assert footer is None
    assert {*verdicts(tmp_path)} == {"passed"}, "the kernel finds the header written before it is called"
    assert conclusion_of(header, lines, footer).code == 4
    end = time.monotonic() + 20
    while (any(map(is_alive, children)) or os.listdir(tmp_path / TEMPORARY)) and time.monotonic() < end:
        time.sleep(0.1)
    assert len(children) == 3, "two workers, and who cleans up behind them"
    assert not any(map(is_alive, children))
    assert os.listdir(tmp_path / TEMPORARY) == []


def test_a_full_disk_ends_the_run_with_what_was_written(tmp_path: Path, started: list[subprocess.Popen[str]]) -> None:
    process = start(tmp_path, "--backend", "kernels:Reversed", limit=4000)
    started.append(process)
    out, err = process.communicate()

    assert process.returncode == 4
    said = f"INCONCLUSIVE: the report cannot be written any more (File too large): {tmp_path}/report.jsonl\n"
    assert err.count(said) == 1
    assert "Traceback" not in out + err
    assert "INTERNALERROR" not in err
    assert f"\n{len(CASES)}/{len(CASES)}  " not in err, "it went on without a record"
    header, lines, footer = read_report(tmp_path)
    assert footer is None
    assert 1 <= len(lines) < len(CASES)
    assert conclusion_of(header, lines, footer).sentence in out


def test_what_finds_no_room_leaves_the_lines_before_it_whole(tmp_path: Path) -> None:
    writer = ReportWriter(tmp_path)
    writer.write({"kind": "header"})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (25, limits[1]))
    try:
        with pytest.raises(ReportLostError, match=r"cannot be written any more \(File too large\)"):
            writer.write({"kind": "case", "id": "gemm/x"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        writer.close()

    assert (tmp_path / "report.jsonl").read_text() == '{"kind": "header"}\n'


def test_a_harness_that_breaks_is_a_sentence_and_the_books_say_it(
    tmp_path: Path, started: list[subprocess.Popen[str]]
) -> None:
    breaks = "from conformance.progress import Progress; Progress.pytest_conformance_judged = lambda *given: 1 / 0"
    process = start(tmp_path, "--backend", "kernels:Reversed", entry=f"{breaks}; {ENTRY}")
    started.append(process)
    out, err = process.communicate()

    said = "BROKEN: the harness failed outside of any case: "
    assert process.returncode == 3
    assert err.count(said) == 1
    assert "Traceback" not in err
    footer = read_report(tmp_path)[2]
    assert footer is not None
    assert (footer["exit_code"], footer["counts"]) == (3, {"not-run": len(CASES) - 1, "passed": 1})
    assert footer["conclusion"].startswith(said)
    assert footer["conclusion"] in out


def ended_by(main: Callable[..., int], folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The exit code of a run whose pytest session ends as ``main`` does."""
    monkeypatch.setattr(pytest, "main", lambda arguments, plugins: main(*plugins))
    request = Request(("native",), "cpu", report=folder, cases=(CASES[0],))
    return run_suite(request, keyword=None, workers=None)


def exited(progress: Progress, endings: Endings) -> int:
    """As pytest.exit does, with the exit code that is pytest's for misuse, too."""
    endings.pytest_keyboard_interrupt()
    return 4


def raising(error: BaseException) -> Callable[..., int]:
    def main(*_: object) -> int:
        raise error

    return main


@pytest.mark.parametrize(
    ("main", "code", "says"),
    [
        (raising(OSError(28, "No space left on device")), 3, "BROKEN: the harness failed outside of any case: OSError"),
        (raising(KeyboardInterrupt()), 4, "INCONCLUSIVE: cut short before a case was judged"),
        (lambda *_: pytest.ExitCode.INTERRUPTED, 4, "INCONCLUSIVE: cut short before a case was judged"),
        (lambda *_: pytest.ExitCode.NO_TESTS_COLLECTED, 4, "INCONCLUSIVE: no case was selected"),
        (exited, 4, "INCONCLUSIVE: cut short before a case was judged"),
        (lambda *_: pytest.ExitCode.OK, 4, "INCONCLUSIVE: cut short before a case was judged"),
    ],
)
def test_a_session_without_a_report_is_never_green(
    main: Callable[..., int],
    code: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(tmp_path, line("passed"))

    assert ended_by(main, tmp_path, monkeypatch) == code
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"conformance: {says}")


def test_an_interrupted_start_leaves_the_report_of_another_run_alone_and_does_not_tell_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (write(tmp_path, line("passed")) / "report.jsonl").read_bytes()
    monkeypatch.setattr("conformance.session.Session.open", raising(KeyboardInterrupt()))

    assert run_suite(Request(("native",), "cpu", report=tmp_path), keyword=None, workers=None) == 4
    assert capsys.readouterr() == ("", "conformance: INCONCLUSIVE: cut short before a case was judged\n")
    assert (tmp_path / "report.jsonl").read_bytes() == before


@pytest.mark.parametrize(("verdict", "code", "exit_code"), [("passed", 0, 3), ("failed", 1, 1), ("passed", 4, 3)])
def test_what_broke_after_the_footer_is_not_green_and_hides_no_failure(
    verdict: str,
    code: int,
    exit_code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def main(_: Progress, endings: Endings) -> int:
        endings.pytest_conformance_began({})
        write(tmp_path, line(verdict), code=code)
        raise OSError(28, "No space left on device")

    assert ended_by(main, tmp_path, monkeypatch) == exit_code
    assert "OSError: [Errno 28] No space left on device (test_endings.py:" in capsys.readouterr().err


def test_a_report_that_vanishes_is_not_green(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(_: Progress, endings: Endings) -> int:
        endings.pytest_conformance_began({})
        (tmp_path / "report.jsonl").unlink()
        return 0

    assert ended_by(main, tmp_path, monkeypatch) == 4
    assert "INCONCLUSIVE: the folder " in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["file", "folder in its place", "below a file", "pipe in its place"])
def test_a_report_that_cannot_begin_is_misuse(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from conformance.cli import main

    places = {"file": tmp_path / "file", "folder in its place": tmp_path, "below a file": tmp_path / "file" / "x"}
    places["pipe in its place"] = tmp_path / "piped"
    (tmp_path / "piped").mkdir()
    os.mkfifo(tmp_path / "piped" / "report.jsonl")
    (tmp_path / "file").write_text("")
    (tmp_path / "report.jsonl").mkdir()
    monkeypatch.setattr(sys, "argv", ["conformance", "run", "--case", CASES[0], "--report", str(places[kind])])
    with pytest.raises(SystemExit) as ending:
        main()
    out, err = capfd.readouterr()

    assert (ending.value.code, out, err.count("\n")) == (2, "", 1)
    assert f"the report folder {str(places[kind])!r} cannot be written (" in err
