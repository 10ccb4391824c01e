"""Running somebody else's code: a kernel, its constructor, the file that it stands in.

Such code may raise anything, SystemExit and KeyboardInterrupt too, and that is its own failure and not the end of the
run. Who ends a run does so with a signal, so the signal is listened for, and not the exception taken for one.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Generic, TypeVar

T = TypeVar("T")
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that may end a run."""


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """What an action returned, or what it raised."""

    value: T | None = None
    error: BaseException | None = None


def attempt(action: Callable[[], T]) -> Attempt[T]:
    """Run ``action`` and see what comes. Raises KeyboardInterrupt where a signal ended the run meanwhile.

    Its warnings are no verdict on it, whatever the session turns warnings into. What it prints is no result and goes to
    stderr.
    """
    with _listening() as heard:
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(sys.stderr):
                warnings.simplefilter("ignore")
                done = Attempt(action())
        except BaseException as error:
            done = Attempt(error=_legible(error))
    if heard:
        # It may have been swallowed on the way, or have become another exception.
        raise KeyboardInterrupt
    return done


@contextlib.contextmanager
def _listening() -> Iterator[list[int]]:
    """The signals by which the run was ended meanwhile: those whose handler raises KeyboardInterrupt."""
    heard: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield heard  # signals are the main thread's
        return
    before = {number: handler for number in ENDING if callable(handler := signal.getsignal(number))}

    def hear(number: int, frame: FrameType | None) -> None:
        try:
            before[signal.Signals(number)](number, frame)
        except KeyboardInterrupt:
            heard.append(number)
            raise

    for number in before:
        signal.signal(number, hear)
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _legible(error: BaseException) -> BaseException:
    """``error``, or another one in its place where it cannot even say what it is."""
    try:
        str(error)
    except BaseException as another:
        return RuntimeError(
            f"an exception of class {type(error).__name__}, whose text cannot be read ({type(another).__name__})"
        )
    return error


def shortly(thing: object, most: int = 80) -> str:
    """``repr`` in one line of no more than ``most`` characters, for things whose own code it is."""
    text = " ".join((attempt(lambda: repr(thing)).value or f"a {type(thing).__name__}").split())
    return text if len(text) <= most else f"{text[: most - 3]}..."


def first_line(error: BaseException) -> str:
    """What ``error`` says, as far as a sentence has room for it; where it says nothing, the line that raised it."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else _line_of(error)


def _line_of(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or not frames[-1].line:
        return "(no text)"
    return f"(no text) {Path(frames[-1].filename).name}:{frames[-1].lineno}: {frames[-1].line[:160]}"


def error_line(error: BaseException) -> str:
    """The class of ``error`` and what it says, in one line."""
    return f"{type(error).__name__}: {first_line(error)}"
