"""The report of a run that stopped: the lines that stay true, and whether another run may go on with it."""

from __future__ import annotations

import json
import os.path
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

from conformance.diff.sides import Side, differing
from conformance.errors import UsageError
from conformance.hooks import Key
from conformance.records import Line, read_report
from conformance.report_file import FILE

OPEN = ("not-run", "error")
"""Verdicts that say nothing of the case."""
FREE = ("command", "resumed")
"""Members of the header that need not be the same."""


@dataclass(frozen=True)
class Earlier:
    """The report in ``folder``: its header, and its case lines that are ``kept``, in their order."""

    folder: Path
    header: Line
    kept: Mapping[Key, Line]
    is_finished: bool

    @classmethod
    def read(cls, folder: Path) -> Earlier:
        """The report in ``folder``; a last line that was cut is left out. Raises BadReportError, or UsageError."""
        if os.path.isfile(folder):
            raise UsageError(f"to go on takes the folder of a run's --report, and {str(folder)!r} is a file")
        header, lines, footer = read_report(folder / FILE if os.path.isdir(folder) else folder)
        kept = {(line["backend"], line["id"]): line for line in lines if line["verdict"] not in OPEN}
        return cls(folder, header, kept, footer is not None and len(kept) == len(lines))

    def continued(self, header: Line) -> Line:
        """The ``header`` of the run that goes on, as the one of the whole run. Raises UsageError where it is another's.

        What has to agree is everything that a header says of plan, selection, request, versions, machine and backends.
        """
        new: Line = json.loads(json.dumps(header))
        for name, then, now in self._differing(new):
            raise UsageError(
                f"the run in {str(self.folder)!r} cannot go on here: {name} was {shorten(then, 200)} and is now "
                f"{shorten(now, 200)}; start another run"
            )
        return {**header, "command": self.header.get("command", header["command"]), "resumed": len(self.kept)}

    def _differing(self, new: Line) -> Iterator[tuple[str, str, str]]:
        yield from differing(Side(self.header, {}, None), Side(new, {}, None))
        for name in sorted({*self.header, *new}.difference(FREE)):
            then, now = self.header.get(name), new.get(name)
            if then != now:
                yield name, str(then), str(now)
