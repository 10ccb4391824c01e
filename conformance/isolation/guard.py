"""The worker's side: a watchdog over every case, a diary of it, and a canary after it."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.devices import turn
from conformance.foreign import ENDING
from conformance.hooks import Key
from conformance.isolation.canary import ask_canary
from conformance.isolation.diary import Diary
from conformance.isolation.keeper import lead_group
from conformance.isolation.limits import START, limit_of

if TYPE_CHECKING:
    import torch

LEFT = 86
"""Exit code of a process that leaves because it cannot be believed any more; its diary says why."""

WATCHING: list[Guard] = []
"""The guard of this process, while it is over a case: other sessions may run in a process that has one."""


def drawn(id_: str, device: torch.device) -> None:
    """Let a batch, where it is watched, go on with the case ``id_``, which has a time of its own."""
    for guard in WATCHING:
        guard.check(device)
        guard.drawn(id_)


@contextlib.contextmanager
def believed(device: torch.device, *, alone: bool = False) -> Iterator[None]:
    """Let a case work on ``device``, ``alone`` or among others, and ask the canary before anything of it is believed.

    Also where this suite's own code raised: on a device that is lost, every call does. Where no guard watches,
    nobody is asked, and nobody else there.
    """
    for guard in WATCHING:
        guard.pause()
    with turn(WATCHING[0].folder if WATCHING else None, device, alone=alone):
        for guard in WATCHING:
            guard.renew()
        try:
            yield
        finally:
            for guard in WATCHING:
                guard.check(device)


class Guard:
    """Watches over this process, which ends where a case takes too long: ``timeout`` seconds and what its work takes.

    0 is no limit.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        self._timeout = timeout
        self._limit = max(timeout, START) if timeout else 0.0
        self._place = os.getcwd()
        self._diary = Diary(path)
        self.folder = path.parent
        lead_group()
        self._take_signals_back()
        self._arm()

    def _arm(self) -> None:
        """Start the time anew, where there is a limit."""
        # Every time: a kernel may have closed the file, or have taken the handlers for itself.
        trace = self._diary.trace
        faulthandler.enable(trace)
        if not self._limit:
            return
        # A thread without the interpreter's lock: it ends a kernel that holds that, too.
        faulthandler.dump_traceback_later(self._limit, exit=True, file=trace)
        self._diary.note("time", self._limit, time.monotonic() + self._limit)

    def opened(self) -> None:
        """Note that there is a plan, and let whoever hands out the cases take its time."""
        faulthandler.cancel_dump_traceback_later()
        self._diary.note("open")

    def leave(self, word: str, sentence: str) -> None:
        """End this process, with a reason that the diary keeps under ``word``."""
        self._diary.note(word, sentence)
        os._exit(LEFT)

    @contextlib.contextmanager
    def over(self, key: Key, kind: str) -> Iterator[None]:
        """Watch over the case ``key`` on a device of this ``kind``."""
        self._limit = limit_of(key[1], self._timeout, kind) if self._timeout else 0.0
        self._diary.note("begin", *key)
        self._arm()
        WATCHING.append(self)
        try:
            yield
        finally:
            WATCHING.remove(self)
            faulthandler.cancel_dump_traceback_later()
            self._diary.note("end")
            self._tidy()

    def pause(self) -> None:
        """Let the case at work wait for its turn without a limit: whoever has the device has one."""
        faulthandler.cancel_dump_traceback_later()
        self._diary.note("time", self._limit, None)

    def renew(self) -> None:
        """Start the time of the case at work."""
        self._arm()

    def drawn(self, id_: str) -> None:
        """Note the case ``id_`` of the batch at work, and start its time."""
        self._diary.note("drawn", id_)
        self._arm()

    def check(self, device: torch.device) -> None:
        """Leave where this process cannot be believed any more: ask the canary, and look after what is our own."""
        if not self._diary.is_open:
            self.leave("breakdown", "the case closed files that it had not opened")
        poison = ask_canary(device)
        if poison:
            self.leave("poison", poison)

    def _tidy(self) -> None:
        """Take back what would reach into other cases and is nobody's to judge."""
        self._take_signals_back()
        with contextlib.suppress(OSError):
            os.chdir(self._place)

    def _take_signals_back(self) -> None:
        """Let every signal that asks a process to end do so: whoever ends a run ends the process that hands out."""
        if threading.current_thread() is not threading.main_thread():
            return  # signals are the main thread's
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in (*ENDING, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
