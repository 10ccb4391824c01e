"""`conformance run`: a front of the pytest session, with results on stdout and progress on stderr."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.backends.names import known_place
from conformance.baseline import Baseline
from conformance.ci.announce import announce
from conformance.conclude import BROKEN, INCONCLUSIVE, MISUSED, conclusion_of, worst
from conformance.diff.sides import Side
from conformance.diff.tables import render
from conformance.endings import Endings, interruptible, say
from conformance.errors import UsageError
from conformance.isolation import limits
from conformance.progress import Progress
from conformance.records import check_folder
from conformance.report_file import FILE, BadReportError
from conformance.request import Request
from conformance.resuming.asked import Asked
from conformance.resuming.earlier import Earlier
from conformance.show import tell

PACKAGE = Path(__file__).resolve().parent
DEFAULT_REPORT = Path("conformance-report")
LONGEST = 1e9
"""Seconds that a limit may be: thirty years, and less than overflows any clock."""


def resume_suite(
    folder: Path,
    typed: Asked,
    names: Collection[str],
    *,
    workers: str | None = None,
    timeout: float = limits.DEFAULT,
) -> int:
    """Go on with the run whose report is in ``folder``, as it was asked for; else as `run_suite`.

    ``names`` are the members of ``typed`` that were asked for again: they may only repeat what the report says.
    """
    earlier = Earlier.read(folder)
    asked = Asked.read(earlier.header, folder)
    asked.check_typed(typed, names, folder)
    if earlier.is_finished:
        say(f"the run in {folder} came to its end: nothing is left of it to be run")
        return _conclude(folder, Endings(()), _baseline(asked.request))
    asked.check_code(names, folder)
    say(f"going on with {folder}: {len(earlier.kept)} of its cases are judged")
    request = replace(asked.request, report=folder)
    return run_suite(request, keyword=asked.keyword, workers=workers, timeout=timeout, resumes=True)


def _baseline(request: Request) -> Baseline | None:
    return Baseline.read(request.baseline) if request.baseline else None


def run_suite(
    request: Request,
    *,
    keyword: str | None = None,
    workers: str | None = None,
    timeout: float = limits.DEFAULT,
    resumes: bool = False,
) -> int:
    """Judge ``request`` and print the verdict table; returns the exit code. Raises UsageError for a wrong request.

    ``workers`` is the number of worker processes, or auto; without any, cases run in this one. ``timeout`` is the
    limit of a case in a worker, in seconds. A run that ``resumes`` goes on with the report in its folder.
    """
    folder = request.report or DEFAULT_REPORT
    baseline = _baseline(request)
    _check_workers(workers)
    if not 0 <= timeout < LONGEST:
        raise UsageError(f"--timeout takes seconds, below {LONGEST:.0e}, or 0 for none, got {timeout}")
    status: int = pytest.ExitCode.INTERRUPTED
    with interruptible() as heard:
        endings = Endings(heard)
        try:
            with Progress(sys.stderr) as progress:
                _check(request, folder, in_workers=workers != "0")
                arguments = _arguments(request, folder, keyword, workers, timeout)
                arguments += ["--conformance-resume"] if resumes else []
                with contextlib.redirect_stdout(sys.stderr):
                    status = pytest.main(arguments, plugins=[progress, endings])
        except KeyboardInterrupt:
            pass  # a session that had begun has closed its books, or says by having no footer that it has not
        except UsageError:
            raise
        except Exception as error:  # what pytest does not shield is the end of a session
            endings.hear(error)
        if endings.misuse:
            raise UsageError(endings.misuse)
        return _conclude(folder, endings, baseline) if endings.has_begun else _without_report(status, endings)


def _check(request: Request, folder: Path, *, in_workers: bool) -> None:
    """Raise UsageError for what is wrong with ``request`` or ``folder``, as far as this process may know.

    Kernels that are judged in workers are imported there first, since that alone can end a process.
    """
    if in_workers:
        request.check()
        for spec in request.backends:
            known_place(spec)
    else:
        from conformance.session import Session

        Session.open(request)
    check_folder(folder)


def _check_workers(workers: str | None) -> None:
    if workers not in (None, "auto", "logical") and not re.fullmatch("[0-9]{1,3}", workers or ""):
        raise UsageError(f"-n takes a number of worker processes below 1000, or auto, got {workers!r}")


def _arguments(request: Request, folder: Path, keyword: str | None, workers: str | None, timeout: float) -> list[str]:
    """Arguments of a pytest session that no configuration of the current folder reaches.

    The suite is named by its path: where nothing is, pytest loads the conftest of the current folder.
    """
    arguments = [str(PACKAGE / "suite"), "-p", "conformance.plugin", "-p", "no:cacheprovider", "-p", "no:logging"]
    arguments += ["-c", os.devnull, "--rootdir", str(PACKAGE.parent), "--confcutdir", str(PACKAGE)]
    # What the terminal shows is `Progress` and the table at the end.
    arguments += ["-p", "no:terminal", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    # It would leave a folder behind, for temporary files that no case has.
    arguments += ["-p", "no:tmpdir"]
    arguments += [f"--conformance-backend={name}" for name in request.backends]
    arguments += [f"--conformance-quantiser={name}" for name in request.quantisers]
    arguments += [f"--conformance-linear={name}" for name in request.linears]
    arguments += [f"--conformance-require={name}" for name in request.require]
    arguments += [f"--conformance-case={case}" for case in request.cases]
    arguments += [f"--conformance-profile={request.profile}", f"--conformance-seed={request.seed}"]
    arguments += [f"--conformance-report={folder}"]
    arguments += [] if request.device is None else [f"--conformance-device={request.device}"]
    arguments += [f"--conformance-model={request.model}"] if request.model else []
    arguments += [f"--conformance-tp={request.tp}"]
    arguments += [f"--conformance-deviations={path}" for path in request.deviations]
    arguments += ["--conformance-quarantined"] if request.quarantined else []
    arguments += [] if request.examples is None else [f"--conformance-examples={request.examples}"]
    arguments += [f"--conformance-shard={request.shard}"] if request.shard else []
    arguments += [f"--conformance-baseline={request.baseline}"] if request.baseline else []
    arguments += ["-k", keyword] if keyword else []
    arguments += ["-n", workers or "1", f"--conformance-timeout={timeout}"]
    return arguments


def _without_report(status: int, endings: Endings) -> int:
    """Say why nothing was judged."""
    if endings.broke:
        say(f"BROKEN: {endings.broke}")
        return BROKEN
    if status == pytest.ExitCode.USAGE_ERROR and not endings.cut:
        return MISUSED  # pytest has said it
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        say("INCONCLUSIVE: no case was selected; `conformance list` shows what there is")
    else:
        say("INCONCLUSIVE: cut short before a case was judged")
    return INCONCLUSIVE


def _conclude(folder: Path, endings: Endings, baseline: Baseline | None) -> int:
    """Print what the report in ``folder`` comes to, and its comparison with the ``baseline``; returns the exit code."""
    try:
        side = Side.read(folder)
    except BadReportError as error:  # its writer was asked for nothing wrong, so this is no misuse
        say(f"INCONCLUSIVE: {error}")
        return INCONCLUSIVE
    lines = list(side.lines.values())
    codes = [tell(side.header, lines, side.footer, where=folder / FILE)]
    against = baseline.compared(side) if baseline else None
    if baseline and against:
        sys.stdout.write(f"\nagainst the baseline {baseline.path}:\n")
        render(against)
        codes.append(against.code)
    announce(side.header, lines, conclusion_of(side.header, lines, side.footer), against)
    if endings.broke:
        say(f"BROKEN: {endings.broke}")
        codes.append(BROKEN)
    return worst(*codes)
