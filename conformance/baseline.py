"""A report that was kept as the expectation of a machine class, and what a new one adds to or takes from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.diff.result import Diff, between
from conformance.diff.sides import Side

CLASS = ("path", "arch", "profile")
"""What makes a machine class, and has to be the same; versions and drivers are what a baseline is there for."""


@dataclass(frozen=True)
class Baseline:
    """The report ``path`` as an expectation. It forgives nothing: it only adds what has become worse."""

    path: Path
    side: Side

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """The report ``path``, a file or its folder. Raises BadReportError."""
        return cls(path, Side.read(path))

    def compared(self, new: Side) -> Diff | None:
        """The comparison with a run of all that ``new`` judged; None where that is nothing.

        What was not run is the run's own to say, and what was not selected is nobody's.
        """
        judged = {key: line for key, line in new.lines.items() if line["verdict"] != "not-run"}
        if not judged:
            return None
        whole = bool(new.footer and new.footer["complete"])
        kept = {key: line for key, line in self.side.lines.items() if whole or key in judged}
        found = between(replace(self.side, lines=kept), replace(new, lines=judged))
        return replace(found, doubts=(*self._doubts(new), *found.doubts))

    def _doubts(self, new: Side) -> Iterator[str]:
        old = self.side
        for name in CLASS:
            was, now = (side.header.get(name) for side in (old, new))
            if was != now:
                yield f"the baseline is for {name} {was}, and this is {name} {now}"
        unrun = sum(line["verdict"] == "not-run" for line in old.lines.values())
        if unrun:
            yield f"the baseline is incomplete: {unrun} of its {len(old.lines)} cases were not run"
        elif old.footer and not old.footer["complete"]:
            lacking = len(new.lines.keys() - old.lines.keys())
            if lacking:
                yield f"the baseline is incomplete: a selection that lacks {lacking} of these {len(new.lines)} cases"
