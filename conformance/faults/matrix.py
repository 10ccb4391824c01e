"""`conformance faults`: every seeded fault against every check, and who kills whom."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field

from cases import Case, plan
from conformance.faults import FAULTS, HONEST
from conformance.faults.kept import KEPT
from conformance.faults.trying import Kill, kills, prepare
from conformance.probe import parse_device

Killed = dict[str, dict[str, Kill]]
"""By kernel, the checks that failed it."""


@dataclass
class Matrix:
    """Which checks failed which kernels; ``checks`` are all that can be tried on ``device``.

    ``killed`` is what became of kernels that declare no arithmetic, ``declared`` of the same ones declaring SM90.
    """

    checks: tuple[str, ...]
    faults: tuple[str, ...]
    device: str = "cpu"
    complete: bool = True
    killed: Killed = field(default_factory=dict)
    declared: Killed = field(default_factory=dict)

    @property
    def survivors(self) -> list[str]:
        """Faults that no check fails, declared or not."""
        return [name for name in self.faults if not self.killed.get(name) and not self.declared.get(name)]

    @property
    def alarms(self) -> list[str]:
        """Right kernels that a check fails."""
        return [name for name in HONEST if self.killed.get(name) or self.declared.get(name)]

    @property
    def idle(self) -> list[str]:
        """Checks that fail no fault."""
        return [check for check in self.checks if not self.kills_of(check)]

    @property
    def unexplained(self) -> list[str]:
        """Checks that fail no fault that another one does not, without a reason to keep them."""
        return [check for check in self.checks if check not in self.idle and not self.only(check) and check not in KEPT]

    @property
    def is_proof(self) -> bool:
        """Whether nothing is left to be done. What a reduced form leaves alive is left to the complete one."""
        left = [*self.idle, *self.alarms]
        return not left + (self.survivors + self.unexplained if self.complete else [])

    def kills_of(self, check: str) -> list[str]:
        """The faults that ``check`` fails, declared or not."""
        return [
            name for name in self.faults if check in self.killed.get(name, ()) or check in self.declared.get(name, ())
        ]

    def only(self, check: str) -> list[str]:
        """The faults that ``check`` fails and no other does: declared ones count where nothing fails the others."""
        return [name for name in self.kills_of(check) if set(self.killed.get(name) or self.declared[name]) == {check}]

    def enter(self, check: str, found: Mapping[str, Kill], *, as_declared: bool = False) -> None:
        """Add what one check failed."""
        for name, kill in found.items():
            (self.declared if as_declared else self.killed).setdefault(name, {}).setdefault(check, kill)


FEW = 12
"""Cases of a check that every kernel is tried with; further ones are for what survives these."""

LARGE = 1 << 24
"""Multiply-accumulates above which only exact cases are tried: there a bound costs most and sees least."""

ROUNDS = (1 << 21, 1 << 24, 1 << 62)
"""What survives is tried with cases up to so many multiply-accumulates, round by round."""


def matrix(workers: int | None = None, *, deeper: bool = True) -> Matrix:
    """Try a few cases of every check of `quick` on every kernel, undeclared and declared.

    If ``deeper``, more of them and of `standard` are for the faults that survived, and for checks that killed nothing.
    """
    device = parse_device(None)
    faults = tuple(name for name, fault in FAULTS.items() if fault.needs in ("", "compile", device.type))
    every = _by_check(plan("standard" if deeper else "quick"), device.type)
    few = {check: cases[:: -(-len(cases) // FEW)] for check, cases in _by_check(plan("quick"), device.type).items()}
    more = {check: [case for case in cases if case not in few.get(check, ())] for check, cases in every.items()}
    found = Matrix(tuple(every), faults, str(device), complete=deeper)
    count = workers or os.cpu_count() or 1
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context, initializer=prepare, initargs=(count,)) as pool:
        keepers = [name for name, variant in HONEST.items() if variant.keeps_arithmetic]
        _try(pool, found, few, (*faults, *HONEST))
        _try(pool, found, {check: cases[:1] for check, cases in few.items()}, (*faults, *keepers), as_declared=True)
        _try(pool, found, {check: more[check] for check in found.idle}, faults)
        for above, limit in zip((0, *ROUNDS), ROUNDS, strict=False):
            size = {c: [case for case in cases if above <= case.problem.macs < limit] for c, cases in more.items()}
            _try(pool, found, size, found.survivors)
    return found


def _by_check(cases: Iterable[Case], kind: str) -> dict[str, list[Case]]:
    """Cases by check, small ones first, of those that can be tried on a device of that ``kind``."""
    found: dict[str, list[Case]] = {}
    for case in sorted(cases, key=lambda case: case.problem.macs):
        if (case.tier == "bound" and case.problem.macs > LARGE) or (case.scenario.needs_gpu and kind == "cpu"):
            continue
        found.setdefault(case.check, []).append(case)
    return found


def _try(
    pool: ProcessPoolExecutor,
    found: Matrix,
    cases: Mapping[str, Sequence[Case]],
    names: Sequence[str],
    *,
    as_declared: bool = False,
) -> None:
    from rich.console import Console
    from rich.progress import track

    jobs: dict[Future[dict[str, Kill]], str] = {}
    for check in sorted(cases, key=lambda check: -sum(case.problem.macs for case in cases[check])):
        if cases[check] and names:
            ids = [case.id for case in cases[check]]
            jobs[pool.submit(kills, ids, names, found.device, as_declared=as_declared)] = check
    console = Console(stderr=True)
    for job in track(as_completed(jobs), "checks", len(jobs), console=console, disable=not console.is_terminal):
        found.enter(jobs[job], job.result(), as_declared=as_declared)
