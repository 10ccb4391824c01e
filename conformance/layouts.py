"""How operands may lie in memory: a table of layouts, and the strides that they come down to. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Fill = Literal["known", "nan", "inf", "huge"]
"""What lies in memory that is nobody's: known finite numbers, or poison."""
ROW_PADDING = 16
"""Bytes behind a row of A or B, elements behind one of `out`: a row of such a multiple still starts on one."""
SCALE_PADDING = 4
"""Floats behind a line of scales, 16 bytes again."""


@dataclass(frozen=True)
class Lie:
    """How a matrix lies in its buffer, counted in elements.

    A line is a row, or a column where ``column_major``. Lines are ``padding`` longer than what they hold and stand on
    every ``apart``-th line of a larger matrix; the elements of a line are ``step`` from one another. ``offset`` is how
    far behind the aligned start of the buffer the matrix begins. Where ``expanded``, the first row serves all rows,
    with stride 0. Whatever is not the matrix is filled with ``fill``.
    """

    column_major: bool = False
    padding: int = 0
    apart: int = 1
    step: int = 1
    offset: int = 0
    expanded: bool = False
    fill: Fill = "known"

    @property
    def is_dense(self) -> bool:
        """Whether no foreign byte lies between the first and the last element."""
        return (self.padding, self.apart, self.step) == (0, 1, 1)

    def strides(self, rows: int, columns: int) -> tuple[int, int]:
        """The strides of a matrix [rows, columns]."""
        line = self._line(rows, columns)
        if self.expanded:
            return 0, self.step
        return (self.step, line) if self.column_major else (line, self.step)

    def extent(self, rows: int, columns: int) -> int:
        """Elements from the first of a matrix [rows, columns] to the end of its last line, padding included."""
        lines = columns if self.column_major else min(rows, 1) if self.expanded else rows
        return lines * self._line(rows, columns) if rows else 0

    def _line(self, rows: int, columns: int) -> int:
        return self.apart * (max(rows if self.column_major else columns, 1) * self.step + self.padding)


_BY_COLUMN = Lie(column_major=True)


@dataclass(frozen=True)
class Layout:
    """How A, B, As and Bs lie, and `out` where one is given; without more, as upstream hands them over."""

    A: Lie = Lie()
    B: Lie = Lie()
    As: Lie = _BY_COLUMN
    Bs: Lie = Lie()
    out: Lie | None = None


def _offset(octets: int, floats: int) -> Layout:
    codes, scales = Lie(offset=octets, fill="nan"), Lie(offset=floats, fill="nan")
    return Layout(codes, codes, Lie(column_major=True, offset=floats, fill="nan"), scales)


def _poison(fill: Fill) -> Layout:
    return Layout(Lie(fill=fill), Lie(fill=fill), Lie(column_major=True, fill=fill), Lie(fill=fill))


_PADDED, _EVERY_SECOND = Lie(padding=ROW_PADDING, fill="nan"), Lie(apart=2, fill="nan")
_ONE_ROW = Lie(expanded=True, fill="nan")
LAYOUTS = {
    "": Layout(),
    "as-row-major": Layout(As=Lie()),
    "as-padded": Layout(As=Lie(column_major=True, padding=SCALE_PADDING, fill="nan")),
    "bs-column-major": Layout(Bs=_BY_COLUMN),
    "bs-padded": Layout(Bs=Lie(padding=SCALE_PADDING, fill="nan")),
    "as-rows-padded": Layout(As=Lie(padding=SCALE_PADDING, fill="nan")),
    "bs-columns-padded": Layout(Bs=Lie(column_major=True, padding=SCALE_PADDING, fill="nan")),
    "a-rows-padded": Layout(A=_PADDED),
    "b-rows-padded": Layout(B=_PADDED),
    "a-rows-strided": Layout(A=_EVERY_SECOND),
    "b-rows-strided": Layout(B=_EVERY_SECOND),
    "a-column-major": Layout(A=_BY_COLUMN),
    "b-column-major": Layout(B=_BY_COLUMN),
    "scales-strided": Layout(As=Lie(column_major=True, step=2, fill="nan"), Bs=Lie(step=2, fill="nan")),
    "scales-expanded": Layout(As=_ONE_ROW, Bs=_ONE_ROW),
    "offset-16": _offset(octets=16, floats=4),
    "offset-1": _offset(octets=1, floats=1),
    "poison-nan": _poison("nan"),
    "poison-inf": _poison("inf"),
    "poison-huge": _poison("huge"),
    "out-given": Layout(out=Lie()),
    "out-padded": Layout(out=Lie(padding=ROW_PADDING)),
}
"""By the name of the scenario, "" for a plain call. Poison lies around what the layout is about and nowhere else, so
that a kernel which reads past another operand is not taken for one that cannot read this layout."""
ALL_PADDED = Layout(_PADDED, _PADDED, LAYOUTS["as-padded"].As, LAYOUTS["bs-padded"].Bs)
"""Of no scenario: every leading dimension is another than usual at once."""
