"""Keeping the books of a pytest session: what was planned, what became of it, what it comes to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance import __version__
from conformance.conclude import CONFORMS, INCONCLUSIVE, Conclusion, conclude
from conformance.endings import say, what_broke
from conformance.hooks import Key
from conformance.items import bare, broken, key_of
from conformance.probe import driver_version
from conformance.records import PAGE, Line, ReportLostError, ReportWriter, footer, header

if TYPE_CHECKING:
    import pluggy

    from conformance.session import Session


class Reporter:
    """The controller's side of the plugin. Raises UsageError when the report folder cannot be written."""

    def __init__(
        self,
        session: Callable[[], Session],
        hook: pluggy.HookRelay,
        *,
        folder: Path | None,
        require: tuple[str, ...],
        selected: bool,
    ) -> None:
        self._session = session
        self._hook = hook
        self._require = require
        self._selected = selected
        self._writer = ReportWriter(folder) if folder else None
        self._planned: dict[Key, None] = {}
        self._lines: dict[Key, Line] = {}
        self._header: Line = {}
        self._broke = ""
        self._lost = False

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the plan, where tests run in this process."""
        self._plan(item.nodeid for item in session.items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Note the plan, where they run in others."""
        self._plan(ids)

    def _plan(self, nodeids: Iterable[str]) -> None:
        keys = [key for nodeid in nodeids if (key := key_of(nodeid))]
        # The workers of pytest-xdist all send the same plan.
        if keys and not self._planned:
            self._planned = dict.fromkeys(keys)
            self._keep(self._head())
            self._hook.pytest_conformance_planned(keys=keys)

    def _head(self) -> Line:
        self._header = header(about(self._session()))
        return self._header

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the record as soon as it is known; a failure without one is the harness's own."""
        key = key_of(report.nodeid)
        if key is None or key in self._lines:
            return
        line = getattr(report, "conformance", None)
        if line is None and report.failed:
            line = broken(key, report)
        if line is not None:
            self._lines[key] = line
            self._keep(line)
            self._hook.pytest_conformance_judged(line=line)

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that the harness broke outside of any case, so that the footer says it."""
        self._broke = what_broke(excinfo.value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Account for every planned case, write the footer, and let the exit status say what pytest cannot know.

        Before the workers are waited for: whoever ended the session may not give it the time.
        """
        if not self._planned and not self._require:
            return
        unrun = [bare(key, "not-run", "", "the session ended first") for key in self._planned if key not in self._lines]
        self._lines.update({(line["backend"], line["id"]): line for line in unrun})
        ending = [] if self._header else [self._head()]
        complete = self._is_complete()
        ending += [*unrun, footer(self._lines.values(), complete=complete, conclusion=self.conclusion())]
        for line in ending:
            self._write(line)
        if self._writer and not self._lost:
            _draw_page(self._writer.path, session.config)
        if session.exitstatus == 0:
            session.exitstatus = self.conclusion().code

    def pytest_unconfigure(self) -> None:
        """Close the report."""
        if self._writer:
            self._writer.close()

    def conclusion(self) -> Conclusion:
        """What the session comes to."""
        complete = self._is_complete()
        owing = self._session().ledger.owing(self._header["backends"]) if complete else ()
        part = "" if complete else f"selection of {len(self._lines)} case{'s' * (len(self._lines) != 1)}"
        lines = list(self._lines.values())
        found = conclude(lines, require=self._require, owing=owing, part=part, broke=self._broke)
        if self._lost and found.code == CONFORMS:
            return Conclusion(INCONCLUSIVE, "INCONCLUSIVE: what was judged could not be recorded to its end")
        return found

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
        from conformance.summary import print_summary
        from conformance.terminal import console_on

        terminalreporter.section("conformance")
        console = console_on(terminalreporter._tw._file, no_color=not terminalreporter.hasmarkup)
        print_summary(console, self._header, list(self._lines.values()), conclusion=self.conclusion())

    def _keep(self, line: Line) -> None:
        """Write ``line``, and end a session that would go on without a record."""
        if not self._write(line):
            pytest.exit("there is no record any more", INCONCLUSIVE)

    def _write(self, line: Line) -> bool:
        """Write ``line`` where a report is wanted; returns, and says, whether there is still room for it."""
        try:
            if self._writer and not self._lost:
                self._writer.write(line)
        except ReportLostError as error:
            self._lost = True
            say(f"INCONCLUSIVE: {error}")
        return not self._lost


def _draw_page(report: Path, config: pytest.Config) -> None:
    """Make the page beside ``report``. It repeats what stands there, so that without it the verdict is the same."""
    from conformance.html.page import write_page

    try:
        write_page(report, report.with_name(PAGE))
    except Exception as error:
        said = " ".join(str(error).split()) or type(error).__name__
        # Where pytest captures all output, a line to stderr would be lost.
        capture = config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            sys.stderr.write(f"\nconformance: {PAGE} was not made, and the verdict stands without it: {said}\n")


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
