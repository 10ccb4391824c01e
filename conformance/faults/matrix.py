"""`conformance faults`: every seeded fault against every check, and who kills whom."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

import torch

from cases import Case, plan
from conformance.faults import FAULTS, HONEST
from conformance.faults.trying import Kill, kills, prepare
from conformance.probe import parse_device, probe

Killed = dict[str, dict[str, Kill]]
"""By kernel, the checks that failed it."""


@dataclass
class Matrix:
    """Which checks failed which kernels; ``checks`` are all that were tried."""

    checks: tuple[str, ...]
    faults: tuple[str, ...]
    killed: Killed = field(default_factory=dict)

    @property
    def survivors(self) -> list[str]:
        """Faults that no check fails."""
        return [name for name in self.faults if not self.killed.get(name)]

    @property
    def alarms(self) -> list[str]:
        """Right kernels that a check fails."""
        return [name for name in HONEST if self.killed.get(name)]

    @property
    def idle(self) -> list[str]:
        """Checks that fail no fault."""
        busy = {check for name in self.faults for check in self.killed.get(name, ())}
        return [check for check in self.checks if check not in busy]

    def kills_of(self, check: str) -> list[str]:
        """The faults that ``check`` fails."""
        return [name for name in self.faults if check in self.killed.get(name, ())]

    def only(self, check: str) -> list[str]:
        """The faults that ``check`` fails and no other does."""
        return [name for name in self.kills_of(check) if len(self.killed[name]) == 1]

    def enter(self, check: str, found: Mapping[str, Kill]) -> None:
        """Add what one check failed."""
        for name, kill in found.items():
            self.killed.setdefault(name, {}).setdefault(check, kill)


FEW = 12
"""Cases of a check that every kernel is tried with; further ones are for what survives these."""

LARGE = 1 << 24
"""Multiply-accumulates above which only exact cases are tried: there a bound costs most and sees least."""


def matrix(workers: int | None = None, *, deeper: bool = True) -> Matrix:
    """Try a few cases of every check of `quick` on every kernel, then more of them, and of `standard` if ``deeper``.

    More cases are for the faults that survived, and for the checks that killed nothing.
    """
    device = parse_device(None)
    faults = tuple(name for name, fault in FAULTS.items() if fault.needs in ("", "compile", device.type))
    every = _by_check(plan("standard" if deeper else "quick"))
    few = {check: cases[:: -(-len(cases) // FEW)] for check, cases in _by_check(plan("quick")).items()}
    more = {check: [case for case in cases if case not in few.get(check, ())] for check, cases in every.items()}
    found = Matrix(tuple(every), faults)
    count = workers or os.cpu_count() or 1
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=context, initializer=prepare, initargs=(count,)) as pool:
        _try(pool, found, few, (*faults, *HONEST), str(device))
        _try(pool, found, more, found.survivors, str(device))
        _try(pool, found, {check: more[check] for check in found.idle}, faults, str(device))
    return found


def _by_check(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Cases by check, small ones first."""
    found: dict[str, list[Case]] = {}
    for case in sorted(cases, key=lambda case: case.problem.macs):
        if case.tier == "bound" and case.problem.macs > LARGE:
            continue
        found.setdefault(case.check, []).append(case)
    return found


def _try(
    pool: ProcessPoolExecutor, found: Matrix, cases: Mapping[str, Sequence[Case]], names: Sequence[str], device: str
) -> None:
    from rich.console import Console
    from rich.progress import track

    jobs: dict[Future[dict[str, Kill]], str] = {}
    for check in sorted(cases, key=lambda check: -sum(case.problem.macs for case in cases[check])):
        jobs[pool.submit(kills, [case.id for case in cases[check]], names, device)] = check
    console = Console(stderr=True)
    for job in track(as_completed(jobs), "checks", len(jobs), console=console, disable=not console.is_terminal):
        found.enter(jobs[job], job.result())


def document(found: Matrix) -> dict[str, Any]:
    """The matrix as a JSON document."""
    platform = probe(parse_device(None))
    return {
        "path": platform.path,
        "torch": torch.__version__,
        "checks": {c: {"kills": found.kills_of(c), "only": found.only(c)} for c in found.checks},
        "faults": {
            name: {
                "family": FAULTS[name].family,
                "source": FAULTS[name].source,
                "what": FAULTS[name].what,
                "killed_by": {check: vars(kill) for check, kill in found.killed.get(name, {}).items()},
            }
            for name in found.faults
        },
        "right": {name: {c: vars(kill) for c, kill in found.killed.get(name, {}).items()} for name in HONEST},
        "survivors": found.survivors,
        "idle": found.idle,
        "alarms": found.alarms,
    }


def render(found: Matrix) -> None:
    """Print checks with what they kill, and what is left to do."""
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout)
    table = Table("check", "kills", "alone", "for one", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for check in found.checks:
        killed, only = found.kills_of(check), found.only(check)
        table.add_row(check, str(len(killed) or ""), str(len(only) or ""), (only or killed or [""])[0])
    console.print(table)
    for name, kernels in (("survivors", found.survivors), ("idle checks", found.idle), ("alarms", found.alarms)):
        console.print(f"{name}: {', '.join(kernels) or 'none'}", highlight=False, soft_wrap=True)
    caught = len(found.faults) - len(found.survivors)
    console.print(
        f"{caught} of {len(found.faults)} faults killed, {len(HONEST) - len(found.alarms)} of {len(HONEST)} right "
        f"kernels pass, {len(found.checks) - len(found.idle)} of {len(found.checks)} checks kill a fault",
        highlight=False,
        soft_wrap=True,
    )
