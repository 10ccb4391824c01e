"""Keeping the books of a pytest session: what was planned, what became of it, what it comes to."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance import __version__
from conformance.conclude import CONFORMS, Conclusion, conclude
from conformance.probe import driver_version
from conformance.records import Line, ReportWriter, footer, header

if TYPE_CHECKING:
    from conformance.session import Session

ITEM = re.compile(r"(^|/)test_products\.py::test_(product|generated)\[(?P<backend>[^/\]]+)/(?P<id>[a-z]+/.+)\]$")
"""Node ids of the suite's items, from whichever root; workers of pytest-xdist send nothing else before they run."""
Key = tuple[str, str]


def key_of(nodeid: str) -> Key | None:
    """(backend, case id) of a suite item, None for any other test."""
    match = ITEM.search(nodeid)
    return (match["backend"], match["id"]) if match else None


class Reporter:
    """The controller's side of the plugin. Raises UsageError when the report folder cannot be written."""

    def __init__(
        self, session: Callable[[], Session], *, folder: Path | None, require: tuple[str, ...], selected: bool
    ) -> None:
        self._session = session
        self._require = require
        self._selected = selected
        self._writer = ReportWriter(folder) if folder else None
        self._planned: dict[Key, None] = {}
        self._lines: dict[Key, Line] = {}
        self._header: Line = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the plan, where tests run in this process."""
        self._plan(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Note the plan, where they run in others."""
        self._plan(ids)

    def _plan(self, nodeids: Iterable[str]) -> None:
        keys = [key for nodeid in nodeids if (key := key_of(nodeid))]
        self._planned.update(dict.fromkeys(keys))
        if keys and not self._header:
            self._header = header(about(self._session()))
            self._write(self._header)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the record as soon as it is known; a failure without one is the harness's own."""
        key = key_of(report.nodeid)
        if key is None or key in self._lines:
            return
        line = getattr(report, "conformance", None)
        if line is None and report.failed:
            line = bare(key, "error", "harness", _what_broke(report))
        if line is not None:
            self._lines[key] = line
            self._write(line)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Account for every planned case, write the footer, and let the exit status say what pytest cannot know."""
        if not self._planned and not self._require:
            return
        for key in self._planned:
            if key not in self._lines:
                self._lines[key] = bare(key, "not-run", "", "the session ended first")
                self._write(self._lines[key])
        conclusion = self.conclusion()
        self._write(footer(self._lines.values(), complete=self._is_complete(), conclusion=conclusion))
        if session.exitstatus == 0 and conclusion.code != CONFORMS:
            session.exitstatus = conclusion.code

    def conclusion(self) -> Conclusion:
        """What the session comes to."""
        owing = self._session().ledger.owing(self._header["backends"]) if self._is_complete() else ()
        return conclude(list(self._lines.values()), require=self._require, owing=owing)

    def _is_complete(self) -> bool:
        """Whether all that the profile plans was carried out; a selection of cases is partial by nature."""
        if self._selected or any(line["verdict"] == "not-run" for line in self._lines.values()):
            return False
        session = self._session()
        everything = {(a.backend.name, a.case.id) for a in session.assignments}
        everything |= {(d.backend.name, d.batch.id) for d in session.drawings}
        return set(self._lines) == everything

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the verdict table under pytest's own output."""
        if not self._lines or terminalreporter.no_summary:
            return
        from rich.console import Console

        from conformance.summary import print_summary

        terminalreporter.section("conformance")
        console = Console(file=terminalreporter._tw._file, no_color=not terminalreporter.hasmarkup)
        print_summary(console, self._header, list(self._lines.values()), conclusion=self.conclusion().sentence)

    def _write(self, line: Line) -> None:
        if self._writer:
            self._writer.write(line)


def bare(key: Key, verdict: str, reason: str, detail: str) -> Line:
    """The line of a case of which nothing else is known."""
    return {
        "kind": "case",
        "id": key[1],
        "backend": key[0],
        "verdict": verdict,
        "reason": reason,
        "detail": detail,
        "check": _check_named_in(key[1]),
        "path": "",
        "seconds": 0.0,
        "input_digest": "",
        "output_digest": "",
    }


def _check_named_in(text: str) -> str:
    """What the case with this id checks; ids of cases that no longer exist say at least of which kind they were."""
    from cases import parse_case

    try:
        return parse_case(text).check
    except ValueError:
        return text.split("/")[0]


def _what_broke(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash else report.longreprtext).strip()
    return text.splitlines()[0][:300] if text else "no text"


def about(session: Session) -> dict[str, Any]:
    """What the header says of suite, machine, backends and request."""
    platform, request = session.platform, session.request
    return {
        "suite": __version__,
        "torch": platform.torch_version,
        "python": sys.version.split()[0],
        "path": platform.path,
        "platform": platform.kind,
        "arch": platform.arch,
        "runtime": platform.runtime,
        "driver": driver_version(platform),
        "device": str(session.device),
        "device_name": platform.device_name,
        "backends": {backend.name: backend.describe() for backend in session.backends},
        "specs": {backend.name: backend.spec for backend in session.backends},
        "profile": request.profile,
        "seed": request.seed,
        "require": list(request.require),
        "command": ["conformance", *sys.argv[1:]],
    }
