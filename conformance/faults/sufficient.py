"""Which cases of the plan suffice to set every check against every kernel in a few minutes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import pairwise
from random import Random

from cases import Case

Cases = dict[str, list[Case]]
"""Cases by check, small ones first."""
FEW = 7
"""Plain cases of a check that every kernel is tried with."""
CALLS = {"layout": 3, "relation": 2, "state": 1, "malformed": 1}
"""The same for calls that are not plain."""
SMALL, LARGE = 1 << 21, 1 << 24
"""Multiply-accumulates, at most: of a case that every kernel is tried with, and of one with a bound."""
SIZES = (0, SMALL, LARGE, 1 << 62)
"""What survives is tried with cases of more and more multiply-accumulates."""
EXTREMES: tuple[Callable[[Case], int], ...] = (
    lambda case: case.problem.m,
    lambda case: case.problem.n,
    lambda case: case.problem.k,
)
"""Faults of limits and edges show where one of these is largest."""


def by_check(cases: Iterable[Case], kind: str) -> Cases:
    """Cases by check of those that can be tried on a device of that ``kind``, for kernels that know block scales."""
    found: Cases = {}
    for case in sorted(cases, key=lambda case: case.problem.macs):
        if case.scenario.kind == "rule":
            # Those are rules of torch's own APIs, and no fault is made of a call of them.
            continue
        too_large = case.tier == "bound" and case.problem.macs > LARGE
        if case.problem.has_whole_scales or too_large or (case.scenario.needs_gpu and kind == "cpu"):
            continue
        found.setdefault(case.check, []).append(case)
    return found


def few(cases: Cases) -> Cases:
    """Some of every check, small enough to be tried on all kernels; none where each of them is compiled."""
    found = {}
    for check, those in cases.items():
        small = [case for case in those if case.problem.macs <= SMALL] or those[:1]
        count = CALLS.get(those[0].scenario.kind)
        if not is_compiled(those[0]):
            found[check] = _drawn(small) if count is None else _telling_apart(small)[:count]
    return found


def is_compiled(case: Case) -> bool:
    """Whether the case compiles the kernel, which takes a second or a minute."""
    return case.scenario.name.startswith("compiled")


def _drawn(cases: list[Case]) -> list[Case]:
    """The extremes, and others by chance: every n-th of a plan may be of one dtype or of one seed."""
    extreme = [max(cases, key=size) for size in EXTREMES]
    drawn = Random(cases[0].check).sample(cases, len(cases))
    return sorted([*dict.fromkeys([*extreme, *drawn])][:FEW], key=lambda case: case.problem.macs)


def _telling_apart(cases: list[Case]) -> list[Case]:
    """Those with several rows, N blocks and K blocks first: elsewhere one is as good as another."""
    return sorted(cases, key=lambda case: min(case.problem.m, case.problem.n_blocks, case.problem.k_blocks) < 2)


def telling(cases: Cases) -> Cases:
    """What a declared arithmetic is tried with: one of a check, since every bit counts; all where nothing else does."""
    return {check: those if those[0].tier == "declared" else those[:1] for check, those in cases.items()}


def rounds(cases: Cases, tried: Collection[Case]) -> Iterator[Cases]:
    """All but those ``tried`` and compiled ones, from small to large: plain calls, one of a shape, before the rest."""
    for above, limit in pairwise(SIZES):
        first: Cases = {}
        rest: Cases = {}
        for check, those in cases.items():
            sized = [x for x in those if above <= x.problem.macs < limit and x not in tried and not is_compiled(x)]
            first[check] = _one_of_every_shape([case for case in sized if case.scenario.kind not in CALLS])
            rest[check] = [case for case in sized if case not in first[check]]
        yield first
        yield rest


def _one_of_every_shape(cases: Iterable[Case]) -> list[Case]:
    found: dict[tuple[int, int, int], Case] = {}
    for case in cases:
        found.setdefault((case.problem.m, case.problem.n, case.problem.k), case)
    return [*found.values()]
