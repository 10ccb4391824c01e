"""Why a process under watch ended, from what is left of it: its exit status and its diary."""

from __future__ import annotations

import contextlib
import math
import re
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from conformance.isolation.diary import Page

FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$')
THREAD = re.compile(r"^(Current thread|Thread) ")
CALLER = str(Path("conformance") / "backends" / "protocol.py")
"""Who calls kernels."""
OTHERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM))
"""Signals that a process gets from others as a rule; all others it brings upon itself."""
TOOK_TOO_LONG = "Timeout ("
"""How `faulthandler` begins when the time is up."""


@dataclass(frozen=True)
class Death:
    """The end of a process: the ``reason`` of a record, a ``sentence``, and the ``page`` of its diary.

    ``is_its_own`` where nobody else can have ended it.
    """

    reason: Literal["hung", "process-died", "device-poisoned"]
    sentence: str
    is_its_own: bool
    page: Page


def explain_death(page: Page, status: int | None, *, was_late: bool, lacked_memory: bool = False) -> Death:
    """The death of the process with this ``page`` and exit ``status`` (negative: a signal; None: unknown).

    ``was_late`` where its watchdog did not end it in time, so that somebody else had to; ``lacked_memory`` where the
    system had to end processes for want of it while it ran.
    """
    where = place_of(page.traceback)
    if page.poison:
        return Death("device-poisoned", f"after it, {page.poison}", True, page)
    if page.breakdown:
        return Death("process-died", page.breakdown, True, page)
    if was_late:
        return Death("hung", f"{_late(page)}, and the process did not even end itself", False, page)
    # Of a watchdog whose file a kernel has closed nothing is left but the time.
    if TOOK_TOO_LONG in page.traceback or (page.deadline or math.inf) < time.monotonic():
        return Death("hung", _late(page) + (where and f"; it stood{where}"), True, page)
    if status is None or status >= 0:
        said = "the process ended" if status is None else f"the process ended with exit code {status}"
        return Death("process-died", said + where, status is not None, page)
    number = -status
    memory = ", as the system does when memory runs out" if lacked_memory and number == signal.SIGKILL else ""
    said = f"the process was killed by {_name(number)}{memory}{where}"
    return Death("process-died", said, number not in OTHERS, page)


def _late(page: Page) -> str:
    return f"no {'result' if page.is_open else 'plan'} came within {round(page.limit, 2):g} s"


def _name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def place_of(traceback: str) -> str:
    """Where the thread that crashed stood, or else the one that runs kernels, as the end of a sentence; or nothing."""
    threads = _threads(traceback)
    crashed = [frames for is_current, frames in threads if is_current]
    calling = [frames for _, frames in threads if any(CALLER in frame for frame in frames)]
    frames = next(iter([*crashed, *calling, *(frames for _, frames in threads)]), [])
    match = FRAME.match(frames[0]) if frames else None
    return f" at {_short(Path(match['file']))}:{match['line']} in {match['function']}" if match else ""


def _short(file: Path) -> str:
    """The name of ``file``, and of its folder where that says more."""
    return f"{file.parent.name}/{file.name}" if file.name == "__init__.py" else file.name


def _threads(traceback: str) -> Sequence[tuple[bool, list[str]]]:
    """Whether each thread is the current one, and its frames, the innermost first."""
    threads: list[tuple[bool, list[str]]] = []
    for line in traceback.splitlines():
        if THREAD.match(line):
            threads.append((line.startswith("Current"), []))
        elif threads and FRAME.match(line):
            threads[-1][1].append(line)
    return threads


def kills_for_memory() -> int:
    """How often the system has killed a process for want of memory since it started; 0 where it does not say."""
    with contextlib.suppress(OSError):
        found = re.search(r"^oom_kill (\d+)$", Path("/proc/vmstat").read_text(), re.MULTILINE)
        return int(found[1]) if found else 0
    return 0
