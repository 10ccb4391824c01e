"""The entries that hold on this machine, and what they make of a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from cases import EXAMPLE, AnyCase, Problem
from conformance.deviations.entry import Entry, Machine
from conformance.deviations.reading import read_ledger
from conformance.errors import UsageError
from conformance.verdict import CaseRecord

SHIPPED = Path(__file__).resolve().parents[2] / "cases" / "deviations.toml"


@cache
def shipped() -> tuple[Entry, ...]:
    """What is known of torch's own APIs, by version and platform: `cases/deviations.toml`."""
    return read_ledger(SHIPPED)


def deviations_on(machine: Machine) -> tuple[Entry, ...]:
    """The shipped entries that hold on ``machine``."""
    return tuple(entry for entry in shipped() if entry.holds_on(machine))


def deviation_of(problem: Problem, backend: str, machine: Machine) -> Entry | None:
    """The shipped entry that a plain product of ``problem`` by ``backend`` falls under on ``machine``, or None."""
    plain = replace(EXAMPLE, problem=problem)
    return next((entry for entry in deviations_on(machine) if entry.covers(plain, backend)), None)


@dataclass(frozen=True)
class Ledger:
    """Entries that hold here. Where they are ``quarantined``, dangerous ones are not run."""

    entries: tuple[Entry, ...] = ()
    quarantined: bool = True

    @classmethod
    def open(cls, files: Sequence[Path], machine: Machine, *, quarantined: bool = True) -> Ledger:
        """The shipped entries and those of ``files`` that hold on ``machine``. Raises UsageError for a wrong file."""
        entries = [*shipped(), *(entry for path in files for entry in read_ledger(path))]
        names = [entry.id for entry in entries]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"two deviations are called {name!r}: give every entry an id of its own")
        return cls(tuple(entry for entry in entries if entry.holds_on(machine)), quarantined)

    def quarantines(self, case: AnyCase, backend: str) -> Entry | None:
        """The entry for whose sake ``case`` is not run, or None."""
        covering = self._covering(case, backend)
        return next((entry for entry in covering if entry.quarantine and self.quarantined), None)

    def settle(self, case: AnyCase, record: CaseRecord) -> CaseRecord:
        """``record``, or what it is by an entry that covers ``case``: a failure foreseen, or a pass that was not.

        A refusal contradicts no entry: instead of a wrong product it is right.
        """
        covering = list(self._covering(case, record.backend))
        if record.verdict == "failed":
            known = next((entry for entry in covering if record.reason in entry.reasons), None)
            return replace(record, verdict="known-deviation", deviation=known.id) if known else record
        broken = next((entry for entry in covering if entry.demands(case)), None)
        if record.verdict != "passed" or broken is None:
            return record
        said = f"{broken.id} says that {broken.observed}, and it passes"
        return replace(record, verdict="stale-deviation", deviation=broken.id, detail=said)

    def _covering(self, case: AnyCase, backend: str) -> Iterable[Entry]:
        return (entry for entry in self.entries if entry.covers(case, backend))

    def owing(self, backends: Iterable[str]) -> tuple[str, ...]:
        """Ids of the entries that a complete run of ``backends`` has to show."""
        judged = set(backends)
        return tuple(x.id for x in self.entries if judged & set(x.backends) and not (x.quarantine and self.quarantined))
