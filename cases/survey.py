"""The survey: random problems over all recipes, operand formats and sizes, to hold an arithmetic against hardware."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from cases.case import Case
from cases.families import Family
from cases.problem import BLOCK_RECIPES, OUT_DTYPES, Problem

COUNT = 3600
LARGEST = (4096, 7168, 18432)
MACS = 1 << 36
"""Products above this size are left out, apart from the largest one itself."""


def survey(families: tuple[Family, ...]) -> Iterator[Case]:
    """``COUNT`` problems whose sizes are log-uniform up to `LARGEST`, and the largest itself; the same in every run.

    One in twelve has e5m2 on one side, with N up to 128 and the first recipe, where ``torch-v1`` computes it and is
    right; the others have e4m3fn on both and any recipe.
    """
    bound = tuple(family for family in families if family.tier == "bound")
    for family in bound:
        yield Case(Problem(*LARGEST, out="fp32"), family)
    for i in range(COUNT):
        draw = _Draw(i)
        case = Case(_problem(draw, i), bound[draw.below(len(bound))], i)
        if case.problem.macs <= MACS:
            yield case


def _problem(draw: _Draw, i: int) -> Problem:
    m, n, k = (draw.log_uniform(step, top) for step, top in zip((1, 16, 16), LARGEST, strict=True))
    out = tuple(OUT_DTYPES)[draw.below(3)]
    recipe = BLOCK_RECIPES[draw.below(3)]
    if i % 12:
        return Problem(m, n, k, out, recipe)
    formats = ("e5m2", "e4m3fn") if draw.below(2) else ("e4m3fn", "e5m2")
    return Problem(m, min(n, 128), k, out, BLOCK_RECIPES[0], *formats)


class _Draw:
    """A row of random numbers that depends on its index alone."""

    def __init__(self, index: int) -> None:
        self._state = hashlib.blake2b(f"survey/{index}".encode(), digest_size=64).digest()

    def _word(self) -> int:
        word, self._state = self._state[:4], self._state[4:]
        return int.from_bytes(word, "little")

    def below(self, limit: int) -> int:
        """A number 0 .. limit-1."""
        return self._word() % limit

    def log_uniform(self, step: int, top: int) -> int:
        """A multiple of ``step`` up to ``top``, every factor of two about equally often."""
        share = self._word() / 2**32
        return min(top, max(step, int(step * (top / step) ** share) // step * step))
