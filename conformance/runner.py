"""`conformance run`: a front of the pytest session, with results on stdout and progress on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

import pytest
from rich.console import Console

from conformance.baseline import Baseline
from conformance.ci.announce import announce
from conformance.conclude import BROKEN, CONFORMS, INCONCLUSIVE, MISUSED, conclusion_of, worst
from conformance.diff.sides import Side
from conformance.diff.tables import render
from conformance.errors import UsageError
from conformance.records import FILE, ReportWriter
from conformance.request import Request
from conformance.session import Session
from conformance.summary import print_summary

PACKAGE = Path(__file__).resolve().parent
DEFAULT_REPORT = Path("conformance-report")


def run_suite(request: Request, *, keyword: str | None, workers: str | None) -> int:
    """Judge ``request`` and print the verdict table; returns the exit code. Raises UsageError for a wrong request."""
    folder = request.report or DEFAULT_REPORT
    baseline = Baseline.read(request.baseline) if request.baseline else None
    Session.open(request)
    _check_workers(workers)
    # Proves the folder writable, and leaves no earlier report to be taken for this one.
    ReportWriter(folder).close()
    with contextlib.redirect_stdout(sys.stderr):
        status = pytest.main(_arguments(request, folder, keyword, workers))
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        sys.stderr.write("conformance: INCONCLUSIVE: no case was selected; `conformance list` shows what there is\n")
        return INCONCLUSIVE
    if not (folder / FILE).stat().st_size:
        return MISUSED if status == pytest.ExitCode.USAGE_ERROR else BROKEN
    return _conclude(folder, baseline)


def _check_workers(workers: str | None) -> None:
    if workers not in (None, "auto", "logical") and not (workers or "").isdigit():
        raise UsageError(f"-n takes a number of worker processes or auto, got {workers!r}")


def _arguments(request: Request, folder: Path, keyword: str | None, workers: str | None) -> list[str]:
    """Arguments of a pytest session that no configuration of the current folder reaches."""
    arguments = ["--pyargs", "conformance", "-p", "conformance.plugin", "-p", "no:cacheprovider", "-p", "no:logging"]
    arguments += ["-c", os.devnull, "--rootdir", str(PACKAGE.parent), "--confcutdir", str(PACKAGE)]
    arguments += [
        "-q",
        "--no-header",
        "--no-summary",
        "--tb=no",
        "-W",
        "ignore::pytest.PytestAssertRewriteWarning",
    ]
    arguments += [f"--conformance-backend={name}" for name in request.backends]
    arguments += [f"--conformance-require={name}" for name in request.require]
    arguments += [f"--conformance-case={case}" for case in request.cases]
    arguments += [f"--conformance-profile={request.profile}", f"--conformance-seed={request.seed}"]
    arguments += [f"--conformance-report={folder}"]
    arguments += [f"--conformance-device={request.device}"] if request.device else []
    arguments += [f"--conformance-model={request.model}"] if request.model else []
    arguments += [f"--conformance-tp={request.tp}"]
    arguments += [f"--conformance-deviations={path}" for path in request.deviations]
    arguments += ["--conformance-quarantined"] if request.quarantined else []
    arguments += [] if request.examples is None else [f"--conformance-examples={request.examples}"]
    arguments += [f"--conformance-shard={request.shard}"] if request.shard else []
    arguments += [f"--conformance-baseline={request.baseline}"] if request.baseline else []
    arguments += ["-k", keyword] if keyword else []
    arguments += ["-n", workers] if workers else []
    return arguments


def _conclude(folder: Path, baseline: Baseline | None) -> int:
    """Print what the report in ``folder`` comes to, and its comparison with the ``baseline``; returns the exit code."""
    side = Side.read(folder)
    lines, conclusion = list(side.lines.values()), conclusion_of(side.footer)
    print_summary(
        Console(file=sys.stdout), side.header, lines, conclusion=conclusion.sentence, where=str(folder / FILE)
    )
    against = baseline.compared(side) if baseline else None
    if baseline and against:
        sys.stdout.write(f"\nagainst the baseline {baseline.path}:\n")
        render(against)
    announce(side.header, lines, conclusion, against)
    return worst(conclusion.code, against.code if against else CONFORMS)
