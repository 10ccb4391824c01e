"""Spreading workers over devices, and having one alone, without any device."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from cases import parse_case
from conformance import devices
from conformance.assignment import Assignment
from conformance.backends.models import Native
from conformance.backends.protocol import Backend
from conformance.contract import Absent
from conformance.devices import _visible as visible
from conformance.devices import devices_alike, settings_for, turn
from conformance.probe import Platform

GPU = torch.device("cuda")
SHAPES = ("m5-n144-k400", "m33554561-n144-k144")
HOLDER = """
import sys, torch
from pathlib import Path
from cases import parse_case
from conformance import devices
from conformance.assignment import Assignment
from conformance.backends.models import Native
from conformance.backends.protocol import Backend
from conformance.contract import Absent
devices.give_back_memory = lambda device: print("gave back", flush=True)
with devices.turn(Path(sys.argv[1]), torch.device("cuda"), alone=sys.argv[2] == "alone"):
    print("in", flush=True)
    sys.stdin.read()
print("out", flush=True)
"""


class Holder:
    """A process that has its turn until it is told to leave."""

    def __init__(self, folder: Path, how: str) -> None:
        command = [sys.executable, "-c", HOLDER, str(folder), how]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def says(self) -> str:
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def leave(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Holder]]:
    """Start a holder; none outlives the test."""
    holders: list[Holder] = []
    for name in devices.VISIBLE.values():
        monkeypatch.delenv(name, raising=False)

    def started(how: str) -> Holder:
        holders.append(Holder(tmp_path, how))
        return holders[-1]

    yield started
    for holder in holders:
        holder.process.kill()
        with holder.process:
            pass


def await_door(folder: Path) -> None:
    """Wait until somebody stands in the door."""
    with (folder / "cuda.door").open("a") as door:
        while True:
            try:
                fcntl.flock(door, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            fcntl.flock(door, fcntl.LOCK_UN)
            time.sleep(0.02)


def test_workers_take_the_devices_in_turn() -> None:
    found = [visible(worker, (0, 1, 2), "cuda", {}) for worker in range(5)]

    assert [each["CUDA_VISIBLE_DEVICES"] for each in found] == ["0", "1", "2", "0", "1"]


@pytest.mark.parametrize(
    ("kind", "variable"),
    [("cuda", "CUDA_VISIBLE_DEVICES"), ("rocm", "HIP_VISIBLE_DEVICES"), ("xpu", "ZE_AFFINITY_MASK")],
)
def test_a_device_is_one_of_those_that_are_selected_already(kind: str, variable: str) -> None:
    assert visible(1, (0, 1), kind, {variable: "GPU-a, GPU-b"}) == {variable: "GPU-b"}


@pytest.mark.parametrize(("alike", "kind"), [((0,), "cuda"), ((), "cuda"), ((0, 1), "mps"), ((0, 1), "cpu")])
def test_where_there_is_nothing_to_choose_nothing_is_set(alike: tuple[int, ...], kind: str) -> None:
    assert visible(1, alike, kind, {}) == {}


def test_devices_of_another_kind_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["H200", "T400", "H200"]
    monkeypatch.setattr(devices, "_module", lambda _: SimpleNamespace(device_count=lambda: len(names)))
    monkeypatch.setattr(
        "conformance.probe.probe", lambda device: Platform("cuda", "sm90", "2.13", "", names[device.index])
    )

    assert devices_alike(GPU) == (0, 2)
    assert devices_alike(torch.device("cuda:1")) == ()


def test_a_worker_sees_its_device_alone(monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester) -> None:
    paths = (str(pytester.path), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    pytester.makepyfile(
        looks="""
        import os
        from conformance import devices

        devices.settings_for = lambda worker, *_: {"CUDA_VISIBLE_DEVICES": f"of-{worker}"}

        def pytest_runtest_setup(item):
            open(os.environ["PYTEST_XDIST_WORKER"] + ".saw", "w").write(os.environ["CUDA_VISIBLE_DEVICES"])
        """
    )
    small = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
    case = ("--conformance-device=cpu", "--conformance-backend=native", f"--conformance-case={small}")
    pytester.runpytest_subprocess("--pyargs", "conformance", "-n", "2", "-p", "looks", *case)

    saw = [(path.name, path.read_text()) for path in pytester.path.glob("*.saw")]
    assert saw in ([("gw0.saw", "of-0")], [("gw1.saw", "of-1")])


def test_a_cpu_is_not_spread() -> None:
    assert devices_alike(torch.device("cpu")) == ()
    assert settings_for(1, "cpu", {}) == {}


def test_whoever_is_alone_waits_for_the_others_and_keeps_new_ones_out(
    tmp_path: Path, start: Callable[[str], Holder]
) -> None:
    first = start("among others")
    assert first.says() == "in"
    lonely = start("alone")
    await_door(tmp_path)
    late = start("among others")

    assert late.says() == "gave back"
    first.leave()
    assert (first.says(), first.says()) == ("gave back", "out")
    assert lonely.says() == "in"
    lonely.leave()
    assert lonely.says() == "out"
    assert late.says() == "in"


def test_others_use_a_device_together(tmp_path: Path, start: Callable[[str], Holder]) -> None:
    with turn(tmp_path, GPU, alone=False):
        other = start("among others")
        assert other.says() == "in"
        other.leave()
        assert other.says() == "out"


def test_who_dies_is_no_longer_in_the_room(tmp_path: Path, start: Callable[[str], Holder]) -> None:
    other = start("alone")
    assert other.says() == "in"
    other.process.kill()
    other.process.wait()
    with turn(tmp_path, GPU, alone=True):
        assert sorted(path.suffix for path in tmp_path.iterdir()) == [".door", ".room"]


def test_in_a_process_without_others_nothing_is_locked(tmp_path: Path) -> None:
    with turn(None, GPU, alone=True), turn(tmp_path, torch.device("cpu"), alone=True):
        assert list(tmp_path.iterdir()) == []


def test_a_huge_case_needs_the_device_to_itself_unless_it_is_not_run() -> None:
    small, huge = (parse_case(f"gemm/1x128-128x128/{shape}/bf16/tagged-integers/s0") for shape in SHAPES)
    backend = Backend(Native(), spec="native")
    here = Platform("cuda", "sm90", "2.13.0")
    tried = [Assignment.of(case, backend, here) for case in (small, huge)]

    assert [each.needs_room for each in tried] == [False, True]
    assert not replace(tried[1], promise=Absent("no room")).needs_room
