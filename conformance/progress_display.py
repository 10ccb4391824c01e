"""Where progress is shown: one line that is drawn again for a person, a few lasting ones for a log."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TextIO

from rich.live import Live
from rich.text import Text

from conformance.terminal import GAP, Piece, console_on, fit

SECONDS, SHARE = 30.0, 0.1
"""A log gets a line when so many seconds have passed and so large a share of the plan was judged since the last one."""
Pieces = Callable[[], Sequence[Piece]]


class Display(Protocol):
    """Where progress is shown."""

    def show(self, share: float) -> None:
        """Bring the state up to date; the ``share`` of the plan was judged."""

    def say(self, text: str, style: str = "") -> None:
        """Let ``text`` stand."""

    def close(self) -> None:
        """End, with the last state where it may stand."""


class LiveLine:
    """One line that is drawn again four times a second, cut to the width of the terminal, and gone at the end."""

    def __init__(self, stream: TextIO, pieces: Pieces) -> None:
        self._console = console_on(stream, force_terminal=True, force_interactive=True)
        self._pieces = pieces
        self._live = Live(
            get_renderable=self._line, console=self._console, transient=True, auto_refresh=True, redirect_stdout=False
        )
        self._live.start()

    def _line(self) -> Text:
        parts = [(piece.text, piece.style) for piece in fit(self._pieces(), self._console.width)]
        line = Text(GAP).join(Text(text, style) for text, style in parts)
        line.no_wrap, line.overflow = True, "ellipsis"
        return line

    def show(self, share: float) -> None:
        """Nothing: the line is drawn again in any case."""

    def say(self, text: str, style: str = "") -> None:
        """Print ``text`` above the line, cut to the width: the table at the end has all of it."""
        self._console.print(Text(text, style), no_wrap=True, overflow="ellipsis", crop=True)

    def close(self) -> None:
        """Remove the line."""
        self._live.stop()


class LogLines:
    """A line now and then, and the last state at the end: a log keeps all that is written."""

    def __init__(self, stream: TextIO, pieces: Pieces, now: Callable[[], float]) -> None:
        self._console = console_on(stream)
        self._pieces = pieces
        self._now = now
        self._last: tuple[float, float] | None = None

    def show(self, share: float) -> None:
        """Print the first state, and then one when enough time and enough of the plan have passed."""
        now = self._now()
        if self._last is None or (now - self._last[0] >= SECONDS and share - self._last[1] >= SHARE):
            self._last = (now, share)
            self._state()

    def say(self, text: str, style: str = "") -> None:
        """Print ``text``, whole."""
        self._console.print(Text(text, style), soft_wrap=True)

    def close(self) -> None:
        """Print the last state, where there was a first."""
        if self._last is not None:
            self._state()

    def _state(self) -> None:
        self._console.print(GAP.join(piece.text for piece in self._pieces() if piece.text), soft_wrap=True)


class _Forgiving(io.FileIO):
    """A file that takes what it has no room for as written: a run does not end because nobody can watch it."""

    def write(self, data: Any, /) -> int:
        """The number of bytes of ``data``, come what may."""
        with contextlib.suppress(OSError):
            super().write(data)
        return len(data)


def beside_capture(stream: TextIO) -> TextIO:
    """A stream of its own to where ``stream`` leads: while a case runs, pytest has other files in place of 1 and 2."""
    try:
        raw = _Forgiving(os.dup(stream.fileno()), "w")
    except (OSError, io.UnsupportedOperation):
        return stream
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=stream.encoding, line_buffering=True)
