"""A report told again: `conformance show REPORT`, and the end of `conformance run`. Needs no torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conformance.causes import causes_of
from conformance.conclude import BROKEN, CONFORMS, WORDS, conclusion_of
from conformance.coverage import exercised
from conformance.endings import say
from conformance.phases import told
from conformance.records import counts_of
from conformance.statement.statement import statements
from conformance.summary import print_summary
from conformance.terminal import console_on
from conformance.verdict_rows import rows_of

Line = dict[str, Any]


def tell(header: Line, lines: Sequence[Line], footer: Line | None, *, where: Path) -> int:
    """Print the summary of a report on stdout; returns its exit code, which is not green where nobody can read it."""
    conclusion = conclusion_of(header, lines, footer)
    try:
        stated = statements(header, lines, footer)
        took = told(footer.get("seconds", {}), _timed(header, lines)) if footer else ""
        print_summary(
            console_on(sys.stdout), header, lines, conclusion=conclusion, stated=stated, took=took, where=where
        )
    except BrokenPipeError:
        _abandon_stdout()  # whoever read it had enough
    except OSError as error:
        _abandon_stdout()
        code = BROKEN if conclusion.code == CONFORMS else conclusion.code
        say(f"{WORDS[code]}: the results cannot be printed ({error.strerror}), they are in {where}")
        return code
    return conclusion.code


def _timed(header: Line, lines: Sequence[Line]) -> int:
    """How many cases the times of the footer are for: a run that went on times those that were left."""
    judged, kept = [line for line in lines if line["verdict"] != "not-run"], int(header.get("resumed", 0))
    return max(len(judged) - kept, 0)


def _abandon_stdout() -> None:
    """Lead stdout to nowhere, so that what is left in its buffer is no second error when the process ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def document(header: Line, lines: Sequence[Line], footer: Line | None) -> dict[str, Any]:
    """The summary of a report as a JSON document."""
    conclusion = conclusion_of(header, lines, footer)
    return {
        "summary": conclusion.sentence,
        "exit_code": conclusion.code,
        "ended": footer is not None,
        "complete": bool(footer and footer["complete"]),
        "header": header,
        "counts": counts_of(lines),
        "exercised": exercised(lines),
        "statements": [statement.to_json() for statement in statements(header, lines, footer)],
        "rows": [asdict(row) for row in rows_of(header, lines)],
        "causes": [
            {
                "backend": cause.backend,
                "verdict": cause.verdict,
                "name": cause.name,
                "sentence": cause.sentence,
                "reproduce": cause.reproduction(header),
                "cases": [line["id"] for line in cause.members],
            }
            for cause in causes_of(lines)
        ],
    }
