"""`conformance faults`: every seeded fault against every check, and who kills whom."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any

from cases import Case, plan
from conformance.faults import FAULTS, HONEST
from conformance.faults.kept import KEPT
from conformance.faults.sufficient import by_check, few, rounds, telling
from conformance.faults.trying import Kill, kills
from conformance.probe import parse_device
from conformance.workers import as_done, pool_of

Killed = dict[str, dict[str, Kill]]
"""By kernel, the checks that failed it."""


@dataclass
class Matrix:
    """Which checks failed which kernels; ``checks`` are all that can be tried on ``device``.

    ``killed`` is what became of kernels that declare no arithmetic, ``declared`` of the same ones declaring SM90. A
    ``complete`` one has all cases of `standard` for what survives; until it has ``ended`` it proves nothing.
    """

    checks: tuple[str, ...]
    faults: tuple[str, ...]
    device: str = "cpu"
    complete: bool = True
    ended: bool = True
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
        left = [*self.idle, *self.alarms, *(self.survivors + self.unexplained if self.complete else [])]
        return self.ended and not left

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


def matrix(
    workers: int | None = None, *, deeper: bool = True, keep: Callable[[Matrix], None] = lambda _: None
) -> Matrix:
    """Try a few cases of every check on every kernel, undeclared and declared, and more on what survives.

    They are those of `standard` if ``deeper``, else of `quick`. After every step ``keep`` gets what is known so far.
    """
    device = parse_device(None)
    faults = [name for name, fault in FAULTS.items() if fault.needs in ("", "compile", device.type)]
    keepers = [name for name, variant in HONEST.items() if variant.keeps_arithmetic]
    every = by_check(plan("standard" if deeper else "quick"), device.type)
    first = few(every)
    found = Matrix(tuple(every), tuple(faults), str(device), complete=deeper, ended=False)
    workers = workers or os.cpu_count() or 1
    with pool_of(workers) as pool:
        bench = Bench(pool, found, keep, shares=1 if device.type == "cpu" else workers)
        bench.set_against(first, [*faults, *HONEST])
        bench.set_against(telling(first), [*faults, *keepers], as_declared=True)
        # A check that has killed nothing yet was made for a fault that needs something; compiling takes longest.
        demanding = sorted(faults, key=lambda name: ("compile", "cuda", "").index(FAULTS[name].needs))
        bench.set_against({check: every[check] for check in found.idle}, demanding, enough=1)
        for cases in rounds(every, {case for those in first.values() for case in those}):
            bench.set_against(cases, found.survivors)
        declared_alone = {check: those for check, those in every.items() if those[0].tier == "declared"}
        bench.set_against(declared_alone, found.survivors, as_declared=True)
    found.ended = True
    keep(found)
    return found


@dataclass(frozen=True)
class Bench:
    """Workers that enter what they find into ``found``. A check is one job, or ``shares`` of one where calls are many.

    On a GPU a check calls a thousand times where it calls 64 times on a CPU.
    """

    pool: Executor
    found: Matrix
    keep: Callable[[Matrix], None]
    shares: int = 1

    def set_against(self, cases: Mapping[str, Sequence[Case]], names: Sequence[str], **how: Any) -> None:
        """Try ``cases`` on the kernels called ``names``, the longest jobs first, and enter what fails."""
        jobs: dict[Future[dict[str, Kill]], str] = {}
        for check in sorted(
            cases, key=lambda check: (check[:5] != "state", -sum(x.problem.macs for x in cases[check]))
        ):
            ids = [case.id for case in cases[check]]
            # Where one kill is enough, the first kernels are the likeliest.
            shares = 1 if "enough" in how else self.shares
            for share in filter(None, (names[i::shares] for i in range(shares if ids else 0))):
                jobs[self.pool.submit(kills, ids, share, self.found.device, **how)] = check
        for check, killed in as_done(jobs, "checks"):
            self.found.enter(check, killed, as_declared=how.get("as_declared", False))
        self.keep(self.found)
