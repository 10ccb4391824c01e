"""How many workers `-n auto` means, on machines of every size, none of which has to be here."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from conformance import crew as module
from conformance import spreading
from conformance.crew import crew
from conformance.memory import free_memory

GIB = 1 << 30


@pytest.mark.parametrize(
    ("processors", "memory", "devices", "workers"),
    [
        (16, 128, [139], 16),  # one H200
        (128, 560, [139] * 8, 128),
        (64, 32, [139] * 4, 16),  # short of memory: two GiB each
        (16, 128, [24], 4),  # a small GPU
        (16, 128, [80, 24], 8),  # the smaller of two counts for both
        (13, 128, [139] * 4, 12),  # equally many on each
        (4, 128, [139] * 8, 8),  # each device has one
        (1, 1, [4], 1),
        (64, 32, [], 16),
        (2, None, [], 2),
        (2, 1, [], 1),
    ],
)
def test_workers_are_as_many_as_the_machine_carries(
    processors: int, memory: int | None, devices: list[int], workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "free_memory", lambda: memory and memory * GIB)
    monkeypatch.setattr(module, "_sizes", lambda device: [size * GIB for size in devices])

    assert crew(processors, "cpu") == workers


def test_the_devices_that_workers_are_spread_over_are_asked_for_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (8 * GIB, 9 * GIB, 10 * GIB)
    cuda = SimpleNamespace(get_device_properties=lambda index: SimpleNamespace(total_memory=sizes[index]))
    monkeypatch.setattr(torch, "cuda", cuda)
    monkeypatch.setattr(module, "devices_alike", lambda device: () if device.index is not None else (0, 2))

    assert module._sizes(torch.device("cuda")) == [sizes[0], sizes[2]]
    assert module._sizes(torch.device("cuda:1")) == [sizes[1]]
    assert module._sizes(torch.device("cpu")) == []


@pytest.mark.parametrize(("ours", "workers"), [(True, 1), (False, 7)])
def test_only_sessions_that_judge_kernels_are_bounded(
    ours: bool, workers: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "7")
    monkeypatch.setattr(module, "free_memory", lambda: GIB)
    monkeypatch.setattr(spreading, "names_us", lambda config: ours)

    assert request.config.hook.pytest_xdist_auto_num_workers(config=request.config) == workers


MEMINFO = "MemTotal:       32768 kB\nMemFree:         1024 kB\nMemAvailable:    16384 kB\n"


@pytest.mark.parametrize(
    ("groups", "free"),
    [
        ({}, 16 << 20),
        ({"job/step": ("max", 5, 0)}, 16 << 20),
        ({"job/step": (10 << 20, 6 << 20, 1 << 20)}, 5 << 20),
        ({"job": (8 << 20, 6 << 20, 0), "job/step": ("max", 6 << 20, 0)}, 2 << 20),  # the group above has the limit
        ({"": (9 << 20, 6 << 20, 0)}, 3 << 20),
        ({"job/step": (4 << 20, 6 << 20, 0)}, 0),
        ({"other": (1 << 20, 0, 0)}, 16 << 20),
    ],
)
def test_limits_of_control_groups_count(groups: dict[str, tuple[object, int, int]], free: int, tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text(MEMINFO)
    (tmp_path / "proc/self/cgroup").write_text("0::/job/step\n")
    for name, (limit, used, files) in groups.items():
        place = tmp_path / "sys/fs/cgroup" / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "memory.max").write_text(f"{limit}\n")
        (place / "memory.current").write_text(f"{used}\n")
        (place / "memory.stat").write_text(f"anon 3\ninactive_file {files}\nactive_file 4\n")

    assert free_memory(tmp_path) == free


def test_where_nothing_tells_of_memory_none_is_known(tmp_path: Path) -> None:
    assert free_memory(tmp_path) is None


def test_the_memory_of_this_machine_is_known() -> None:
    free = free_memory()

    assert free is not None
    assert 1 << 24 < free < 1 << 50
