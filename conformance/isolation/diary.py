"""What a process under watch notes of itself, so that others can read it when that process can say nothing any more."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.hooks import Key


class Sheet:
    """A file to append to. Opened again where a kernel has closed it: kernels close what they never opened, too."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open()

    def _open(self) -> None:
        self._descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._identity = self._found()

    def _found(self) -> tuple[int, int]:
        status = os.fstat(self._descriptor)
        return status.st_dev, status.st_ino

    @property
    def is_open(self) -> bool:
        """Whether the file descriptor still leads to this file."""
        with contextlib.suppress(OSError):
            return self._found() == self._identity
        return False

    @property
    def descriptor(self) -> int:
        """The file descriptor, which leads to this file."""
        if not self.is_open:
            self._open()
        return self._descriptor


class Diary:
    """The pen of the process: a word a line, written past every buffer, and beside it what `faulthandler` writes."""

    def __init__(self, path: Path) -> None:
        self._sheet = Sheet(path)
        self._trace = Sheet(_trace_of(path))

    @property
    def is_open(self) -> bool:
        """Whether nobody has closed it."""
        return self._sheet.is_open and self._trace.is_open

    @property
    def trace(self) -> int:
        """The file descriptor for tracebacks."""
        return self._trace.descriptor

    def note(self, word: str, *more: Any) -> None:
        """Append ``word`` and what belongs to it; `Page` says which words there are."""
        os.write(self._sheet.descriptor, json.dumps([word, *more]).encode() + b"\n")


@dataclass(frozen=True)
class Page:
    """What a diary says.

    ``before`` are the cases that the process outlived, in their order, ``at_work`` the one that it had begun, and
    ``drawn`` the id of the case at work in that, where it is a batch; ``deadline`` (seconds of the monotonic clock) is
    when it will have been at that for too long, after ``limit`` seconds, ``poison`` what the canary found,
    ``breakdown`` what it cannot go on without, ``misuse`` the sentence of a UsageError.
    """

    is_open: bool = False
    before: tuple[Key, ...] = ()
    at_work: Key | None = None
    drawn: str = ""
    deadline: float | None = None
    limit: float = 0.0
    poison: str = ""
    breakdown: str = ""
    misuse: str = ""
    traceback: str = ""

    @classmethod
    def read(cls, path: Path) -> Page:
        """The page at ``path``, as far as it was written."""
        found: dict[str, Any] = {"traceback": _text(_trace_of(path))}
        before: list[Key] = []
        for word, *more in _words(path):
            if word == "begin":
                found |= {"at_work": (more[0], more[1])}
            elif word == "time":
                found |= {"limit": more[0], "deadline": more[1]}
            elif word == "end":
                before.append(found["at_work"])
                found |= {"at_work": None, "drawn": "", "deadline": None}
            elif word == "open":
                found |= {"is_open": True, "deadline": None}
            else:
                found[word] = more[0]
        return cls(before=tuple(before), **found)


def _words(path: Path) -> Iterator[list[Any]]:
    for text in _text(path).splitlines():
        # The last word of a process that was killed may be cut.
        with contextlib.suppress(ValueError):
            yield json.loads(text)


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _trace_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.trace")
