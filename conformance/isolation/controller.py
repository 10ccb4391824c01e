"""The controller's side: worker processes that are watched, and what becomes of the case whose process ended."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.endings import RunEndedError, say
from conformance.isolation.alone import is_late
from conformance.isolation.death import Death, explain_death, kills_for_memory
from conformance.isolation.diary import Page
from conformance.isolation.inquest import Inquest
from conformance.isolation.keeper import Keeper, end_group
from conformance.isolation.limits import GRACE
from conformance.items import key_of

if TYPE_CHECKING:
    from conformance.session import Session

ATTEMPTS = 3
"""Workers in a row that may be lost before they have run a case."""


class Isolation:
    """A pytest plugin of the process that hands out the cases."""

    def __init__(self, session: Callable[[], Session], plugins: pytest.PytestPluginManager, timeout: float) -> None:
        self._session = session
        self._plugins = plugins
        self._timeout = timeout
        self._folder = Path(tempfile.mkdtemp(prefix="conformance-"))
        self._keeper = Keeper(self._folder)
        self._workers: dict[str, Worker] = {}
        self._lost = 0
        self._done = threading.Event()
        self._killed = kills_for_memory()

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Generator[None]:
        """Import torch while the workers, which are started in here, do so, too."""
        yield
        import conformance.session  # noqa: F401

        threading.Thread(target=self._watch, daemon=True).start()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker its diary."""
        worker = Worker(node, self._folder / node.gateway.id)
        self._workers[node.gateway.id] = worker
        self._keeper.keep(worker.process)
        node.workerinput["conformance_diary"] = str(worker.diary)

    def _watch(self) -> None:
        """End workers that are hung so badly that they cannot even end themselves."""
        while not self._done.wait(1):
            for worker in list(self._workers.values()):
                if not worker.was_late and worker.is_late():
                    worker.was_late = True
                    end_group(worker.process)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Note that workers come as far as a plan."""
        self._lost = 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Find out why a worker is gone. Raises RunEndedError where another would not fare better."""
        worker = self._workers.pop(node.gateway.id)
        if not error:
            return
        death = worker.died(lacked_memory=kills_for_memory() > self._killed)
        self._killed = kills_for_memory()
        node.death = death
        if death.page.misuse:
            self._plugins.hook.pytest_conformance_misused(sentence=death.page.misuse)
            pytest.exit(death.page.misuse, pytest.ExitCode.USAGE_ERROR)
        if not death.page.is_open:
            self._lost += 1
            if death.is_its_own or self._lost >= ATTEMPTS:
                raise RunEndedError(f"a worker ended before it could run a case: {death.sentence}")

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        """Find out what the case whose worker ended has to do with it, and give it the verdict that is true."""
        key, death = key_of(crashitem), getattr(report.node, "death", None)
        if key is None or death is None:
            return
        inquest = Inquest(
            self._session(), self._folder, self._keeper, self._timeout, report.node.workerinput["workercount"]
        )
        ruling = inquest.into(death, key)
        if ruling.said:
            say(ruling.said)
        if ruling.before:
            self._plugins.hook.pytest_conformance_withdrawn(line=ruling.before)
        if key in death.page.before:
            self._plugins.hook.pytest_conformance_withdrawn(line=ruling.line)
        report.conformance = ruling.line
        put_outcome(report, ruling.line)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """End the workers that have not finished: the session was ended before its time."""
        self._done.set()
        for worker in self._workers.values():
            end_group(worker.process)

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        self._done.set()
        self._keeper.close()


class Worker:
    """A worker process as its controller sees it."""

    def __init__(self, node: Any, diary: Path) -> None:
        self._node = node
        self.diary = diary
        self.process: int = node.gateway._rinfo().pid
        self.was_late = False
        self._written = -1

    def is_late(self) -> bool:
        """Whether it should have ended itself some time ago; nobody has who wrote since the last look.

        So a diary, which gets long, is read only where it does not grow.
        """
        before, self._written = self._written, self.diary.stat().st_size if self.diary.exists() else 0
        return before == self._written and is_late(Page.read(self.diary))

    def died(self, *, lacked_memory: bool) -> Death:
        """How it ended; whatever is left of its process group is ended, too."""
        status = self._status()
        end_group(self.process)
        return explain_death(Page.read(self.diary), status, was_late=self.was_late, lacked_memory=lacked_memory)

    def _status(self) -> int | None:
        process = getattr(getattr(self._node.gateway, "_io", None), "popen", None)
        if not isinstance(process, subprocess.Popen):
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(GRACE)
        return None


def put_outcome(report: Any, line: dict[str, Any]) -> None:
    """Let pytest's ``report`` of a case say what its ``line`` says."""
    said = f"{line['reason']}: {line.get('detail', '')}"
    report.when = "call"
    report.outcome, report.longrepr = "passed", None
    if line["verdict"] in ("unsupported", "known-deviation"):
        report.outcome, report.longrepr = "skipped", (report.nodeid, 0, said)
    elif line["verdict"] not in ("passed", "rejected"):
        report.outcome, report.longrepr = "failed", said
