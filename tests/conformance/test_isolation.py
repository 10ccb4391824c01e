"""Kernels that end, block or spoil their process: what is found out, who is blamed, what is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from dying_kernels import corrupt, poison

from conformance.hooks import Key
from conformance.isolation import inquest
from conformance.isolation.alone import Ran
from conformance.isolation.canary import ask_canary
from conformance.isolation.controller import Worker
from conformance.isolation.death import Death, explain_death, place_of
from conformance.isolation.diary import Diary, Page
from conformance.isolation.inquest import Inquest, Ruling
from conformance.isolation.limits import GRACE, limit_of
from conformance.records import read_report

HERE = Path(__file__).parent.parent
CASES = [f"gemm/1x128-128x128/m{m}-n16-k128/fp32/integer-codes/s0" for m in range(3, 9)]
KEYS = [("k", case) for case in CASES]
GUARDED = """
import sys
sys.path[:0] = [{here!r}, {root!r}]
import deaths
from conformance.isolation.guard import Guard, drawn
from pathlib import Path
guard = Guard(Path(sys.argv[1]), 0.3)
guard.opened()
drawn({other!r}, None)
if sys.argv[2] == "draw_outside":
    sys.exit()
if sys.argv[2] == "wait":
    with guard.over(("k", {case!r}), "cpu"):
        import time
        guard.pause()
        time.sleep(0.5)
        guard.renew()
        deaths.hang()
with guard.over(("k", {case!r}), "cpu"):
    getattr(deaths, sys.argv[2])()
with guard.over(("k", {other!r}), "cpu"):
    import time
    time.sleep(0.1)
"""


def guarded(deed: str, diary: Path) -> int:
    """The exit status of a process under guard that does ``deed`` in the case M=3 and then nothing in that of M=4."""
    code = GUARDED.format(here=str(HERE), root=str(HERE.parent), case=CASES[0], other=CASES[1])
    return subprocess.run(
        [sys.executable, "-c", code, str(diary), deed], stderr=subprocess.DEVNULL, check=False
    ).returncode


@pytest.mark.parametrize(
    ("deed", "reason", "says"),
    [
        ("segfault", "process-died", "the process was killed by SIGSEGV at ctypes/__init__.py:"),
        ("abort", "process-died", "the process was killed by SIGABRT at deaths.py:"),
        ("leave_with_0", "process-died", "the process ended with exit code 0"),
        ("leave_with_3", "process-died", "the process ended with exit code 3"),
        ("kill_itself", "process-died", "the process was killed by SIGKILL"),
        ("interrupt_itself", "process-died", "the process was killed by SIGINT"),
        ("hang", "hung", "no result came within 0.3 s; it stood at deaths.py:"),
        ("hang_with_the_lock", "hung", "no result came within 0.3 s; it stood at deaths.py:"),
        ("hang_deaf", "hung", "no result came within 0.3 s; it stood at deaths.py:"),
        ("close_all_files_and_hang", "hung", "no result came within 0.3 s"),
    ],
)
def test_a_process_that_a_case_ends_says_which_and_how(deed: str, reason: str, says: str, tmp_path: Path) -> None:
    status = guarded(deed, tmp_path / "diary")
    death = explain_death(Page.read(tmp_path / "diary"), status, was_late=False)

    assert death.page.at_work == KEYS[0]
    assert death.reason == reason
    assert death.sentence.startswith(says)


@pytest.mark.parametrize("deed", ["set_an_alarm", "go_elsewhere", "leave_a_child"])
def test_what_reaches_into_the_next_case_is_taken_back(deed: str, tmp_path: Path) -> None:
    status = guarded(deed, tmp_path / "diary")

    assert (status, Page.read(tmp_path / "diary").before) == (0, (*KEYS[:2],))


def test_what_runs_outside_of_a_watched_case_has_no_limit(tmp_path: Path) -> None:
    status = guarded("draw_outside", tmp_path / "diary")

    assert (status, Page.read(tmp_path / "diary").deadline) == (0, None)


def test_a_case_that_waits_for_its_turn_has_its_time_afterwards(tmp_path: Path) -> None:
    status = guarded("wait", tmp_path / "diary")
    death = explain_death(Page.read(tmp_path / "diary"), status, was_late=False)

    assert (death.reason, "at deaths.py:" in death.sentence) == ("hung", True)


def test_a_crash_is_where_the_thread_stood_that_crashed_and_a_hang_where_the_kernel_stands() -> None:
    calling = (
        '  File "/x/kernel.py", line 7 in multiply\n  File "/x/conformance/backends/protocol.py", line 9 in apply\n'
    )
    other = '  File "/x/queue.py", line 5 in wait\n'

    assert (
        place_of(f"Thread 0x1 (most recent call first):\n{other}Thread 0x2:\n{calling}")
        == " at kernel.py:7 in multiply"
    )
    assert place_of(f"Thread 0x2:\n{calling}Current thread 0x1:\n{other}") == " at queue.py:5 in wait"
    assert place_of("") == ""


def test_a_worker_is_late_once_its_diary_is_silent_beyond_its_time(tmp_path: Path) -> None:
    gateway = SimpleNamespace(_rinfo=lambda: SimpleNamespace(pid=0))
    worker = Worker(SimpleNamespace(gateway=gateway), tmp_path / "diary")
    before_it_writes = [worker.is_late(), worker.is_late()]
    diary = Diary(tmp_path / "diary")
    diary.note("begin", *KEYS[0])
    diary.note("time", 1.0, time.monotonic() - GRACE - 1)
    looks = [worker.is_late(), worker.is_late()]
    diary.note("end")

    assert before_it_writes == [False, False]
    assert looks == [False, True]
    assert [worker.is_late(), worker.is_late()] == [False, False]


@pytest.mark.parametrize(
    ("status", "lacked_memory", "is_its_own", "says"),
    [
        (-signal.SIGKILL, False, False, "the process was killed by SIGKILL"),
        (-signal.SIGKILL, True, False, "the process was killed by SIGKILL, as the system does when memory runs out"),
        (-signal.SIGBUS, True, True, "the process was killed by SIGBUS"),
        (None, False, False, "the process ended"),
    ],
)
def test_what_others_may_have_done_is_told_apart(
    status: int | None, lacked_memory: bool, is_its_own: bool, says: str
) -> None:
    death = explain_death(Page(is_open=True), status, was_late=False, lacked_memory=lacked_memory)

    assert (death.sentence, death.is_its_own) == (says, is_its_own)


def test_a_diary_outlives_a_kernel_that_closes_its_file(tmp_path: Path) -> None:
    diary = Diary(tmp_path / "diary")
    diary.note("begin", *KEYS[0])
    os.close(diary.trace)
    with open(os.devnull):  # somebody else's file gets the number
        is_open = diary.is_open
        diary.note("end")
    with (tmp_path / "diary").open("a") as file:
        file.write('["begin", "k"')  # cut

    assert not is_open
    assert Page.read(tmp_path / "diary").before == (KEYS[0],)


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (poison, "raises RuntimeError: CUDA error: an illegal memory access was encountered"),
        (corrupt, "256 of 256 elements of a small product on cpu are wrong"),
    ],
)
def test_the_canary_dies_where_products_fail(
    harm: Callable[[], None], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = torch.device("cpu")
    assert ask_canary(device) is None
    monkeypatch.setattr(torch, "mm", torch.mm)
    harm()

    assert says in (ask_canary(device) or "")


def test_a_large_product_may_take_longer() -> None:
    large = "gemm/1x128-128x128/m1000-n1000-k1000/fp32/integer-codes/s0"

    assert limit_of(large, 10, "cpu") == pytest.approx(110)
    assert limit_of("generated/s3", 10, "cpu") == 10


class World:
    """Processes in which cases run: ``ends`` says after which cases one dies, and how."""

    def __init__(self, ends: Callable[[Sequence[Key]], bool], *, is_its_own: bool = True) -> None:
        self._ends = ends
        self._is_its_own = is_its_own
        self.count = 0

    def death(self, ran: Sequence[Key], at_work: Key | None) -> Death:
        page = Page(is_open=True, before=tuple(ran), at_work=at_work)
        return Death("process-died", "it died", self._is_its_own, page)

    def run_alone(self, _request: object, keys: Sequence[Key], *_: object, **__: object) -> Ran:
        self.count += 1
        for i, key in enumerate(keys):
            if self._ends(keys[: i + 1]):
                return Ran([{"id": k[1], "verdict": "passed"} for k in keys[:i]], self.death(keys[:i], key))
        return Ran([{"id": k[1], "verdict": "passed"} for k in keys], None)

    def inquire(self, monkeypatch: pytest.MonkeyPatch, before: Sequence[Key], key: Key) -> Ruling:
        """What is ruled of ``key``, at work when a process died that had run ``before``."""
        monkeypatch.setattr(inquest, "run_alone", self.run_alone)
        found = Inquest(Told(), Path(), None, 1.0, 1)  # type: ignore[arg-type]
        return found.into(self.death(before, key), key)


class Told:
    """A session, as far as it is asked here."""

    request = None

    def failed(self, key: Key, reason: str, detail: str, *, drawn: str) -> Any:
        line = {"id": key[1], "verdict": "failed", "reason": reason, "detail": detail}
        return SimpleNamespace(to_json=lambda: line)


def said_of(ruling: Ruling) -> tuple[tuple[str, str], tuple[str, str] | None]:
    line, before = ruling.line, ruling.before
    return (line["id"], line["verdict"]), before and (before["id"], before["verdict"])


def test_who_dies_alone_is_guilty(monkeypatch: pytest.MonkeyPatch) -> None:
    ruling = World(lambda ran: ran[-1] == KEYS[3]).inquire(monkeypatch, KEYS[:3], KEYS[3])

    assert said_of(ruling) == ((CASES[3], "failed"), None)
    assert "it was run alone in a fresh process" in ruling.line["detail"]


def test_who_left_something_behind_is_guilty_and_the_victim_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    ruling = World(lambda ran: [*ran[-2:]] == KEYS[2:4]).inquire(monkeypatch, KEYS[:3], KEYS[3])

    assert said_of(ruling) == ((CASES[3], "passed"), (CASES[2], "failed"))


@pytest.mark.parametrize("guilty", range(4))
def test_a_cause_that_lies_far_back_is_found(guilty: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(lambda ran: KEYS[guilty] in ran and ran[-1] == KEYS[5] and len(ran) > 2)
    ruling = world.inquire(monkeypatch, KEYS[:5], KEYS[5])

    assert said_of(ruling) == ((CASES[5], "passed"), (CASES[guilty], "failed"))
    assert world.count <= 5, "they are halved, not counted through"


def test_what_happens_once_is_held_against_the_case_and_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    ruling = World(lambda ran: False).inquire(monkeypatch, KEYS[:3], KEYS[3])

    assert said_of(ruling) == ((CASES[3], "failed"), None)
    assert "it happened once" in ruling.line["detail"]


def test_what_somebody_else_did_is_held_against_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    ruling = World(lambda ran: False, is_its_own=False).inquire(monkeypatch, KEYS[:3], KEYS[3])

    assert said_of(ruling) == ((CASES[3], "passed"), None)
    assert ruling.said.startswith("a worker was lost (it died)")


def test_who_ran_first_needs_no_second_run(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(lambda ran: True)

    assert said_of(world.inquire(monkeypatch, (), KEYS[0])) == ((CASES[0], "failed"), None)
    assert world.count == 0


KEPT = """
import subprocess, sys, time
sys.path[:0] = [{root!r}]
from conformance.isolation.keeper import Keeper
from pathlib import Path
keeper = Keeper(Path(sys.argv[1]))
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"], start_new_session=True)
keeper.keep(child.pid)
print(child.pid, flush=True)
time.sleep(60)
"""


def test_nothing_outlives_a_run_that_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "diary").touch()
    command = [sys.executable, "-c", KEPT.format(root=str(HERE.parent)), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        child = Path(f"/proc/{process.stdout.readline().strip()}/stat")
        process.kill()
    end = time.monotonic() + 20
    while (folder.exists() or is_alive(child)) and time.monotonic() < end:
        time.sleep(0.02)

    assert not folder.exists()
    assert not is_alive(child)


def is_alive(stat: Path) -> bool:
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def run(folder: Path, *backends: str, cases: Iterable[str] = CASES[1:4]) -> subprocess.CompletedProcess[str]:
    named = [word for backend in backends for word in ("--backend", backend)]
    asked = [*named, *(word for case in cases for word in ("--case", case)), "--device", "cpu", "--report", str(folder)]
    code = f"import sys; sys.path.append({str(HERE)!r}); from conformance.cli import main; main()"
    command = [sys.executable, "-c", code, "run", *asked, "--timeout", "2"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


FAULTS = {
    "dying_kernels:Aborts": ("abort", "process-died"),
    "dying_kernels:HangsWithTheLock": ("hang-with-the-lock", "hung"),
    "dying_kernels:Poisons": ("poison", "device-poisoned"),
    "dying_kernels:LosesTheDevice": ("lose-the-device", "device-poisoned"),
}


def test_each_fault_costs_its_own_case_and_no_other(tmp_path: Path) -> None:
    done = run(tmp_path, *FAULTS, "kernels:Reversed")
    _, lines, footer = read_report(tmp_path)
    right = {line["id"]: line for line in lines if line["backend"] == "reversed"}
    failed = {(line["backend"], line["reason"]) for line in lines if line["verdict"] == "failed"}
    others = [line for line in lines if line["verdict"] != "failed"]
    junit, page = ((tmp_path / name).read_text() for name in ("junit.xml", "report.html"))

    assert (done.returncode, footer and footer["counts"]) == (1, {"failed": 4, "passed": 11}), done.stderr
    assert failed == {*FAULTS.values()}
    assert {line["id"] for line in lines if line["verdict"] == "failed"} == {CASES[2]}
    for line in others:
        differing = {name for name in line if line[name] != right[line["id"]][name]}
        assert differing <= {"backend", "seconds", "verdict"}, line
    for _, reason in FAULTS.values():
        assert f"{reason}: " in junit
        assert reason in page
        assert reason in done.stdout


def test_a_kernel_that_cannot_even_be_imported_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    done = run(tmp_path / "report", "dying_imports:anything")

    says = "conformance: BROKEN: a worker ended before it could run a case: the process ended with exit code 3\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", says)
    assert not (tmp_path / "report").exists()
