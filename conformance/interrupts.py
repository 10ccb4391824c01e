"""Signals that ask a process to end, told from exceptions of the same kind that a kernel raises."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""What ends a process politely; not every system has all of them."""


class Interrupted(KeyboardInterrupt):
    """Somebody asked this process to end: a KeyboardInterrupt of any other class is a kernel's own."""


def is_interruption(error: BaseException) -> bool:
    """Whether ``error`` is a wish to end this process, and not just anything that a kernel raised."""
    if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        return True  # nobody can tell
    return isinstance(error, Interrupted)


def on_interrupt(*names: str) -> None:
    """Let Ctrl-C, and the signals ``names``, raise `Interrupted` in this process, whose main thread asks."""
    for name in names or ("SIGINT",):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let the `SIGNALS` do what Ctrl-C does, so that the books are closed. Only a main thread can be asked to."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    on_interrupt(*SIGNALS)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Interrupted
