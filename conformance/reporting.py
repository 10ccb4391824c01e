"""Keeping the books of a pytest session: what was planned, what became of it, what it comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.baseline import Baseline
from conformance.beside import put_beside
from conformance.conclude import CONFORMS, INCONCLUSIVE, Conclusion, conclude, worst
from conformance.diff.result import Diff
from conformance.diff.sides import Side
from conformance.endings import say, what_broke
from conformance.errors import UsageError
from conformance.heading import about
from conformance.hooks import Key
from conformance.items import bare, broken, key_of
from conformance.phases import added
from conformance.records import Line, ReportLostError, ReportWriter, check_folder, footer, header, plan_of

if TYPE_CHECKING:
    from conformance.resuming.earlier import Earlier
    from conformance.session import Session


class Reporter:
    """The controller's side of the plugin. Raises UsageError when the report folder cannot be written."""

    def __init__(
        self,
        session: Callable[[], Session],
        plugins: pytest.PytestPluginManager,
        *,
        folder: Path | None,
        require: tuple[str, ...],
        selected: bool,
        keyword: str = "",
        earlier: Earlier | None = None,
        shard: str | None = None,
        baseline: Path | None = None,
    ) -> None:
        self._session = session
        self._plugins = plugins
        self._require = require
        self._selected = selected
        self._keyword = keyword
        self._earlier = earlier
        self._shard = shard
        # Read before anything runs: a file that is no report is found now.
        self._baseline = Baseline.read(baseline) if baseline else None
        self._against: Diff | None = None
        self._folder = folder
        if folder:
            check_folder(folder)
        self._writer: ReportWriter | None = None
        self._planned: dict[Key, None] = {}
        self._lines: dict[Key, Line] = {}
        self._header: Line = {}
        self._phases: dict[str, float] = {}
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
        kept = self._earlier.kept if self._earlier else {}
        keys = [*kept, *(key for nodeid in nodeids if (key := key_of(nodeid)))]
        # The workers of pytest-xdist all send the same plan.
        if keys and not self._planned:
            self._planned = dict.fromkeys(keys)
            head = self._head()
            self._lines = dict(kept)
            self._end_unless(self._tried(lambda writer: writer.rewrite([head, *kept.values()])))
            self._draw(None)
            self._plugins.hook.pytest_conformance_kept(lines=list(kept.values()))
            self._plugins.hook.pytest_conformance_planned(keys=keys)

    def _head(self) -> Line:
        session = self._session()
        self._selected = self._selected or self._planned.keys() != session.share
        self._header = self._checked(
            header(
                {
                    **about(session, self._keyword),
                    "selected": self._selected,
                    "selection": plan_of(self._planned),
                }
            )
        )
        # Not before there is a plan: a call that is wrong leaves the report of an earlier one.
        self._writer = ReportWriter(self._folder, goes_on=self._earlier is not None) if self._folder else None
        self._plugins.hook.pytest_conformance_began(header=self._header)
        return self._header

    def _checked(self, head: Line) -> Line:
        """``head``, that of the whole run where this one goes on; the session ends where it must not."""
        try:
            return self._earlier.continued(head) if self._earlier else head
        except UsageError as error:
            self._planned = {}
            self._plugins.hook.pytest_conformance_misused(sentence=str(error))
            pytest.exit(str(error), pytest.ExitCode.USAGE_ERROR)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the record as soon as it is known; a failure without one is the harness's own."""
        self._phases = added((self._phases, getattr(report, "phases", {})))
        key = key_of(report.nodeid)
        if key is None or key in self._lines:
            return
        line = getattr(report, "conformance", None)
        if line is None and report.failed:
            line = broken(key, report)
        if line is not None:
            self._lines[key] = line
            self._keep(line)
            self._plugins.hook.pytest_conformance_judged(line=line)

    def pytest_conformance_withdrawn(self, line: Line) -> None:
        """Put ``line`` in the place of the one that the case has."""
        self._lines[line["backend"], line["id"]] = line
        self._tried(lambda writer: writer.rewrite([self._header, *self._lines.values()]))

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that the harness broke outside of any case, so that the footer says it."""
        self._broke = what_broke(excinfo.value)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Account for every planned case, write the footer, and let the exit status say what pytest cannot know.

        Before the workers are waited for: whoever ended the session may not give it the time.
        """
        if not self._planned and not self._answers_for_nothing(session):
            return
        unrun = [bare(key, "not-run", "", "the session ended first") for key in self._planned if key not in self._lines]
        self._lines.update({(line["backend"], line["id"]): line for line in unrun})
        head = [] if self._header else [self._head()]
        ending = self._ending()
        for line in (*head, *unrun, ending):
            self._write(line)
        self._draw(ending)
        if session.exitstatus in (0, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = worst(ending["exit_code"], self._against.code if self._against else CONFORMS)

    def _answers_for_nothing(self, session: pytest.Session) -> bool:
        """Whether nothing was collected, and that is an answer: a path is required, or a shard that nothing fell to."""
        asked = bool(self._require) or self._shard is not None
        return asked and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)

    def _ending(self) -> Line:
        ending = footer(self._lines.values(), complete=self._is_complete(), conclusion=self.conclusion())
        ending["seconds"] = {phase: round(seconds, 2) for phase, seconds in self._phases.items()}
        if self._baseline:
            self._against = self._baseline.compared(Side(self._header, self._lines, ending))
        if self._against:
            ending["baseline"] = {"exit_code": self._against.code, "conclusion": self._against.sentence}
        return ending

    def pytest_unconfigure(self) -> None:
        """Close the report."""
        if self._writer:
            self._writer.close()

    def conclusion(self) -> Conclusion:
        """What the session comes to."""
        found = conclude(
            list(self._lines.values()),
            require=self._require,
            owing=self._header["owing"] if self._is_complete() else (),
            part=self._part(),
            is_shard=self._shard is not None,
            broke=self._broke,
        )
        if self._lost and found.code == CONFORMS:
            return Conclusion(INCONCLUSIVE, "INCONCLUSIVE: what was judged could not be recorded to its end")
        return found

    def _part(self) -> str:
        if self._shard is not None:
            return f"shard {self._shard}"
        return "" if self._is_complete() else f"selection of {len(self._lines)} case{'s' * (len(self._lines) != 1)}"

    def _is_complete(self) -> bool:
        """Whether all that the profile plans was carried out; a selection of cases is partial by nature."""
        if self._selected or self._shard or any(line["verdict"] == "not-run" for line in self._lines.values()):
            return False
        return self._lines.keys() == self._session().planned

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the verdict table under pytest's own output."""
        if not self._lines or terminalreporter.no_summary:
            return
        from conformance.ci.announce import announce
        from conformance.diff.tables import render
        from conformance.summary import print_summary
        from conformance.terminal import console_on

        terminalreporter.section("conformance")
        console = console_on(terminalreporter._tw._file, no_color=not terminalreporter.hasmarkup)
        lines, conclusion = list(self._lines.values()), self.conclusion()
        print_summary(console, self._header, lines, conclusion=conclusion)
        if self._against:
            terminalreporter.section("conformance against the baseline")
            render(self._against, console)
        announce(self._header, lines, conclusion, self._against)

    def _draw(self, ending: Line | None) -> None:
        """Say the same for people and for services; until the ``ending`` is known, that there is none."""
        if self._writer and not self._lost:
            lines = list(self._lines.values()) if ending else []
            complaints = put_beside(self._writer.path.parent, self._header, lines, ending)
            # Where pytest captures all output, a line to stderr would be lost.
            capture = self._plugins.getplugin("capturemanager") if complaints else None
            with capture.global_and_fixture_disabled() if capture else nullcontext():
                for each in complaints:
                    say(each)

    def _keep(self, line: Line) -> None:
        """Write ``line``, and end a session that would go on without a record."""
        self._end_unless(self._write(line))

    def _end_unless(self, recorded: bool) -> None:
        if not recorded:
            pytest.exit("there is no record any more", INCONCLUSIVE)

    def _write(self, line: Line) -> bool:
        """Write ``line`` where a report is wanted; returns, and says, whether there is still room for it."""
        return self._tried(lambda writer: writer.write(line))

    def _tried(self, write: Callable[[ReportWriter], None]) -> bool:
        try:
            if self._writer and not self._lost:
                write(self._writer)
        except ReportLostError as error:
            self._lost = True
            say(f"INCONCLUSIVE: {error}")
        return not self._lost
