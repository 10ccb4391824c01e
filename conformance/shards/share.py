"""A share of the plan for one of several machines: whoever computes it, wherever, gets the same one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum

from conformance.errors import UsageError

Key = tuple[str, str]


MACS_AT_ONCE = 1e7
"""Multiply-adds that take as long as the rest of a case does.

Measured for the emulated SM90 on two cores, on the profiles quick and standard, whose plans go from small problems to
large ones: with it the time left is right within a factor of two from a twentieth of the cases on, and without it wrong
by a factor of four.
"""


def cost_of(macs: int) -> float:
    """How long a case of so many multiply-adds takes, in units of one without any worth mentioning."""
    return 1 + macs / MACS_AT_ONCE


@dataclass(frozen=True)
class Work:
    """A planned case of a backend: its (backend, id), what names its input bytes, and about how long it takes."""

    key: Key
    inputs: str
    cost: float


@dataclass(frozen=True)
class Shard:
    """Share ``index`` of ``count``, from 1."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """``2/5``. Raises UsageError."""
        numbers = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        index, count = map(int, numbers.groups()) if numbers else (0, 0)
        if not 1 <= index <= count:
            raise UsageError(f"--shard takes I/N, the share I of N from 1/N to N/N, N below a million, got {text!r}")
        return cls(index, count)

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def of(self, plan: Iterable[Work]) -> frozenset[Key]:
        """The keys of this share: all work on the same input bytes, and shares of about equal cost.

        The largest pieces go first, each to the share that has least so far. Names decide between equals, so that
        neither the order of ``plan`` nor the process has a say.
        """
        pieces = _by_inputs(plan)
        loads = [0.0] * self.count
        mine: list[Key] = []
        for inputs in sorted(pieces, key=lambda name: (-_cost(pieces[name]), name)):
            least = loads.index(min(loads))
            loads[least] += _cost(pieces[inputs])
            mine += [work.key for work in pieces[inputs] if least == self.index - 1]
        return frozenset(mine)


def _by_inputs(plan: Iterable[Work]) -> Mapping[str, list[Work]]:
    pieces: dict[str, list[Work]] = {}
    for work in plan:
        pieces.setdefault(work.inputs, []).append(work)
    return pieces


def _cost(piece: Iterable[Work]) -> float:
    # A plain sum of floats depends on their order.
    return fsum(work.cost for work in piece)
