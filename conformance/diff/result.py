"""A comparison as a whole: its exit code, its line for a chat message, its groups, its JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conformance.conclude import CONFORMS, INCONCLUSIVE, WRONG
from conformance.diff.compare import Difference, compare
from conformance.diff.kinds import KINDS, RANKS, Kind
from conformance.diff.sides import Side, differing, is_covering, paired, why_incomparable

NAMED = 6
"""Kinds of change that the line for a chat message names."""
COVERAGE = ("newly-skipped", "newly-unsupported", "removed")


@dataclass(frozen=True)
class Group:
    """Equal changes: of one kind, backend and check, and where values tell, of the same ones. Large groups lead."""

    kind: Kind
    backend: str
    check: str
    old: str
    new: str
    members: tuple[Difference, ...]


@dataclass(frozen=True)
class Diff:
    """Two reports compared: what differs between the runs, why that proves nothing (if so), and every difference."""

    runs: tuple[tuple[str, str, str], ...]
    torch: tuple[str, str]
    compared: int
    doubts: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Cases by kind of change, in the order of what a person must do."""
        counted = Counter(x.change for x in self.differences)
        return {name: counted[name] for name in KINDS if counted[name]}

    @property
    def code(self) -> int:
        """The exit code. A doubt comes first: a comparison that proves nothing proves no regression either."""
        if self.doubts:
            return INCONCLUSIVE
        if any(KINDS[name].weight == "fails" for name in self.counts):
            return WRONG
        return INCONCLUSIVE if "not-run" in self.counts else CONFORMS

    @property
    def sentence(self) -> str:
        """One line that fits a chat message."""
        said = [f"{count} {KINDS[name].words}" for name, count in self.counts.items()]
        more = [f"{len(said) - NAMED} more kinds of change"] if len(said) > NAMED else []
        found = ", ".join(said[:NAMED] + more) or "nothing changed"
        before = f"{self._word()}: {'; '.join(self.doubts)}; " if self.doubts else f"{self._word()}: "
        old, new = self.torch
        versions = f"torch {old}" if old == new else f"torch {old} → {new}"
        return f"{before}{found} ({versions}, {self.compared} case{'s' * (self.compared != 1)} in both)"

    def _word(self) -> str:
        if self.doubts:
            return "INCOMPLETE" if all("incomplete" in doubt for doubt in self.doubts) else "INCOMPARABLE"
        if self.code == WRONG:
            failing = [name for name in self.counts if KINDS[name].weight == "fails"]
            return "COVERAGE LOST" if all(name in COVERAGE for name in failing) else "REGRESSED"
        return "INCOMPLETE" if self.code == INCONCLUSIVE else "NO REGRESSION"

    @property
    def groups(self) -> list[Group]:
        """The differences that are listed, equal ones together, in the order of what a person must do."""
        found: dict[tuple[str, str, str, str, str], list[Difference]] = {}
        for each in self.differences:
            if each.kind.weight != "count":
                old, new = (each.old, each.new) if each.kind.by_value else ("", "")
                found.setdefault((each.change, each.backend, each.check, old, new), []).append(each)
        groups = [
            Group(KINDS[name], backend, check, old, new, tuple(members))
            for (name, backend, check, old, new), members in found.items()
        ]
        return sorted(groups, key=lambda group: (RANKS[group.kind.name], -len(group.members)))


def diff(old: Path, new: Path, across: str | None = None) -> Diff:
    """Compare the reports ``old`` and ``new``, files or their folders. Raises UsageError where one cannot be read."""
    return between(*paired(Side.read(old), Side.read(new), across))


def between(old: Side, new: Side) -> Diff:
    """Compare two sides whose cases are called alike."""
    runs = tuple(differing(old, new))
    torches = (str(old.header["torch"]), str(new.header["torch"]))
    differences = compare(old, new, covered=is_covering(old, new))
    compared = len(old.lines.keys() & new.lines.keys())
    return Diff(runs, torches, compared, tuple(why_incomparable(old, new)), tuple(differences))


def document(found: Diff) -> dict[str, Any]:
    """The comparison as a JSON document, with every case."""
    return {
        "summary": found.sentence,
        "exit_code": found.code,
        "doubts": list(found.doubts),
        "compared": found.compared,
        "runs": [{"what": what, "old": old, "new": new} for what, old, new in found.runs],
        "counts": found.counts,
        "kinds": {name: asdict(KINDS[name]) for name in found.counts},
        "differences": [asdict(each) for each in found.differences],
    }


def shown(members: Sequence[Difference], most: int) -> tuple[list[str], int]:
    """At most ``most`` ids, and how many more there are."""
    return [each.id for each in members[:most]], max(0, len(members) - most)
