"""What `conformance statement` answers: the statements about the kernels of a report, and an exit code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.conclude import worst
from conformance.errors import UsageError, unknown
from conformance.records import read_report
from conformance.statement.statement import Statement, statements


@dataclass(frozen=True)
class Stated:
    """The ``statements`` asked for, of one kernel at least."""

    statements: tuple[Statement, ...]

    @property
    def code(self) -> int:
        """Exit code: 0 where there is a statement about every kernel, 1 where a claim is contradicted, else 4."""
        return worst(*(each.code for each in self.statements))

    def to_json(self) -> dict[str, Any]:
        """As a JSON document."""
        return {"exit_code": self.code, "statements": [each.to_json() for each in self.statements]}


def answer(report: Path, backends: tuple[str, ...]) -> Stated:
    """What ``report`` says of ``backends``, of all its kernels where none is named.

    Raises BadReportError where it cannot be read, UsageError where it has no such kernel.
    """
    found = {each.backend: each for each in statements(*read_report(report))}
    if not found:
        raise UsageError(f"the report {str(report)!r} is about no kernel, and statements are about kernels alone")
    for name in backends:
        if name not in found:
            raise unknown("kernel of this report", name, list(found))
    return Stated(tuple(found[name] for name in dict.fromkeys(backends or found)))
