"""The pytest plugin: markers, the session that is judged, and the way of a record to pytest's outcome and the report.

Loaded in every pytest of an environment that has the suite installed, so it imports nothing heavy until suite items
are collected.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance import spreading
from conformance.collecting import MODULE, HiddenModule, SuiteModule, is_ours, located, names_us
from conformance.errors import UsageError
from conformance.isolation.roles import GUARD, guard, is_isolated, is_worker, isolate
from conformance.phases import STOPWATCH
from conformance.processors import wait_politely
from conformance.pytest_options import add_options, are_given, request_of
from conformance.siblings import hidden_by_ours

if TYPE_CHECKING:
    from conformance.reporting import Reporter
    from conformance.resuming.earlier import Earlier
    from conformance.session import Session

SESSION: pytest.StashKey[Session] = pytest.StashKey()
REPORTER: pytest.StashKey[Reporter] = pytest.StashKey()
RECORD: pytest.StashKey[dict[str, Any]] = pytest.StashKey()

CHECKS = {
    "numerics": "a product is owed and its values are judged",
    "contract": "a refusal is owed: exception type and text, and nothing touched",
    "memory": "operands and memory around them are laid out unusually",
    "special_values": "NaN, infinities, zeros, subnormals, overflow",
    "determinism": "repeated calls",
    "metamorphic": "related calls whose results must agree",
    "generated": "cases made by Hypothesis",
    "huge": "sizes beyond 2^31 elements or 4 GiB",
}


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let plugins hear the plan and every record, and add the part that minds workers."""
    from conformance import hooks

    pluginmanager.add_hookspecs(hooks)
    pluginmanager.register(spreading, spreading.__name__)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the --conformance-* options."""
    add_options(parser)


def session_of(config: pytest.Config) -> Session:
    """The judged session of ``config``, opened when first asked for. Raises pytest.UsageError for a wrong request."""
    if SESSION not in config.stash:
        try:
            request = request_of(config)
            wait_politely()
            from conformance.session import Session

            if is_worker(config):
                about: dict[str, Any] = config.workerinput  # type: ignore[attr-defined]
                spreading.settle_in(about)
            config.stash[SESSION] = Session.open(request)
        except UsageError as error:
            if GUARD in config.stash:
                config.stash[GUARD].leave("misuse", str(error))
            raise pytest.UsageError(str(error)) from None
    return config.stash[SESSION]


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and check at once what was asked for explicitly."""
    from conformance.probe import PATHS

    for name, path in PATHS.items():
        config.addinivalue_line("markers", f"{name}: cases of the platform path that needs {path.needs}")
    for name, meaning in CHECKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    if is_worker(config):
        guard(config)
        _deselect(config)
    if is_isolated(config):
        isolate(config, lambda: session_of(config))
    elif are_given(config):
        session_of(config)
    # Whoever only collects, as editors do, judges nothing and must not replace a report.
    if not is_worker(config) and not config.option.collectonly:
        _open_report(config)


def _deselect(config: pytest.Config) -> None:
    from conformance.resuming.deselecting import Deselecting

    told = Deselecting.told(config.workerinput)  # type: ignore[attr-defined]
    config.pluginmanager.register(told, "conformance-deselecting")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Open the session before the suite's modules are imported, so that what is wrong is said in one sentence."""
    config = session.config
    config.args[:] = located(config)
    if names_us(config) and not is_isolated(config):
        session_of(config)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Collect the suite's module, and no other of this package, whatever a project calls its own test files."""
    found = yield
    if not is_ours(file_path):
        return [HiddenModule.from_parent(parent, path=file_path)] if found and hidden_by_ours(file_path) else found
    return [SuiteModule.under(parent)] if file_path == MODULE else []


def _open_report(config: pytest.Config) -> None:
    from conformance.reporting import Reporter

    option = config.option
    chosen = (option.conformance_case, option.conformance_model, option.keyword, option.markexpr)
    try:
        earlier = _earlier(config)
        reporter = Reporter(
            lambda: session_of(config),
            config.pluginmanager,
            folder=option.conformance_report,
            require=tuple(option.conformance_require),
            selected=any(chosen),
            keyword=option.keyword,
            earlier=earlier,
            shard=option.conformance_shard,
            baseline=option.conformance_baseline,
        )
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    config.stash[REPORTER] = reporter
    config.pluginmanager.register(reporter, "conformance-reporter")


def _earlier(config: pytest.Config) -> Earlier | None:
    """The report to go on with, its cases left out. Raises UsageError where there is none."""
    from conformance.resuming.deselecting import Deselecting
    from conformance.resuming.earlier import Earlier

    if not config.option.conformance_resume:
        return None
    if config.option.conformance_report is None:
        raise UsageError("--conformance-resume goes on with a report: name its folder with --conformance-report")
    earlier = Earlier.read(config.option.conformance_report)
    config.pluginmanager.register(Deselecting(earlier.kept), "conformance-deselecting")
    return earlier


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Count the time of cases from here on."""
    STOPWATCH.taken()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the report of a suite item carry its record, across processes too."""
    report = yield
    if report.when == "teardown":
        report.phases = STOPWATCH.taken()  # type: ignore[attr-defined]
    if RECORD in item.stash and report.when == "call":
        report.conformance = item.stash[RECORD]  # type: ignore[attr-defined]
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Show a refusal that was owed as such."""
    line = getattr(report, "conformance", None)
    if line and line["verdict"] == "rejected":
        return "rejected", "r", ("REJECTED", {"green": True})
    return None
