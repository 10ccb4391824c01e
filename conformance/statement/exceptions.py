"""What is known to be wrong with a kernel, by the entries of ledgers that its cases fall under."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from conformance.deviations.entry import Entry
from conformance.records import Line
from conformance.statement.evidence import Tried

TOLD = ("observed", "reason", "link")
"""What the header of a report has of an entry, since its reader may not have the ledger."""


def told_of(entries: Iterable[Entry], backends: Collection[str]) -> dict[str, dict[str, str]]:
    """The entries for ``backends``, as the header has them."""
    mine = (entry for entry in entries if any(name in backends for name in entry.backends))
    return {entry.id: {name: getattr(entry, name) for name in TOLD} for entry in mine}


@dataclass(frozen=True)
class Deviation:
    """What is known to be wrong: the entry of a ledger, and the ``cases`` of this kernel that showed it."""

    name: str
    cases: tuple[str, ...]
    observed: str = ""
    reason: str = ""
    link: str = ""

    @property
    def told(self) -> str:
        """One sentence."""
        many = f"{len(self.cases):,} case{'s' * (len(self.cases) != 1)}, such as {self.cases[0]}"
        said = ": ".join(filter(None, (self.observed, self.reason))) or "its ledger is not in the report"
        return f"{self.name} ({many}): {said}{self.link and f' ({self.link})'}"


def exceptions_of(header: Line, tried: Sequence[Tried]) -> Iterator[Deviation]:
    """The exceptions, each with its cases and what the ledger says of it."""
    ledger, found = header.get("deviations", {}), dict[str, list[str]]()
    for each in tried:
        if each.answer == "known":
            found.setdefault(str(each.line.get("deviation", "")), []).append(str(each.line["id"]))
    for name, ids in found.items():
        entry = ledger.get(name, {})
        told = {key: str(entry.get(key, "")) for key in TOLD}
        yield Deviation(name, tuple(ids), **told)
