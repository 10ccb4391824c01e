"""Which of a machine's devices each worker takes, and who has one to itself for a while."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import torch

VISIBLE = {"cuda": "CUDA_VISIBLE_DEVICES", "rocm": "HIP_VISIBLE_DEVICES", "xpu": "ZE_AFFINITY_MASK"}
"""By kind of platform, the variable by which a process sees some of the devices alone."""


def devices_alike(device: torch.device) -> tuple[int, ...]:
    """The indices over which workers are spread: all devices like ``device``, or none where it was named by its index.

    A session has one platform, so those that differ from the first are left alone.
    """
    from conformance.probe import probe

    module = _module(device)
    if device.index is not None or module is None:
        return ()
    first = probe(type(device)(device.type, 0))
    return tuple(i for i in range(module.device_count()) if probe(type(device)(device.type, i)) == first)


def settings_for(worker: int, device_name: str | None, environment: Mapping[str, str]) -> dict[str, str]:
    """What the worker of this number has to set so that it sees its device alone; empty where there is one device.

    Every kernel then finds its operands on the first device, as it does without workers: which worker a case falls to
    changes no verdict. Raises UsageError for a device that is not here.
    """
    from conformance.probe import parse_device, probe

    device = parse_device(device_name)
    alike = devices_alike(device)
    return _visible(worker, alike, probe(device).kind, environment) if alike else {}


def _visible(worker: int, alike: Sequence[int], kind: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Workers take the devices in turn, by their numbers."""
    if len(alike) < 2 or kind not in VISIBLE:
        return {}
    index = alike[worker % len(alike)]
    # What is visible already may be a selection with numbers and names of its own.
    selected = [part.strip() for part in environment.get(VISIBLE[kind], "").split(",") if part.strip()]
    return {VISIBLE[kind]: selected[index] if index < len(selected) else str(index)}


@contextlib.contextmanager
def turn(folder: Path | None, device: torch.device, *, alone: bool) -> Iterator[None]:
    """Be one of those that use ``device``, or the only one (``alone``), among the processes that share ``folder``.

    Whoever wants to be alone stands in the door until the others have left, so that he is not kept waiting by those who
    come. Who has to wait for him gives back the memory that torch keeps. None: there is nobody else.
    """
    if folder is None or device.type == "cpu":
        yield
        return
    # A worker sees its own device alone, so that the number of it says nothing.
    name = "-".join([*filter(None, map(os.environ.get, VISIBLE.values())), str(device).replace(":", "-")])
    with (folder / f"{name}.door").open("a") as door, (folder / f"{name}.room").open("a") as room:
        if not _lock(door, wait=False):
            give_back_memory(device)
            _lock(door)
        _lock(room, shared=not alone)
        if not alone:
            _unlock(door)
        try:
            yield
        finally:
            if not alone and not _lock(door, wait=False):
                give_back_memory(device)


def give_back_memory(device: torch.device) -> None:
    """Give back what torch keeps of the memory of ``device`` for later."""
    module = _module(device)
    with contextlib.suppress(Exception):  # a case may have broken the device, which is found out elsewhere
        if module is not None:
            module.empty_cache()


def _module(device: torch.device) -> ModuleType | None:
    """What torch has for accelerators of this type."""
    import torch

    return getattr(torch, device.type, None) if device.type in ("cuda", "xpu") else None


def _lock(file: IO[str], *, shared: bool = False, wait: bool = True) -> bool:
    """Lock ``file`` until it is closed; whether that was possible, without ``wait`` at once. A process ends its own."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system: cases that need much memory may find it taken
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


def _unlock(file: IO[str]) -> None:
    with contextlib.suppress(ImportError):
        import fcntl

        fcntl.flock(file, fcntl.LOCK_UN)
