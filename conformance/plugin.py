"""The pytest plugin: options, markers, and the way from a case's record to pytest's outcome and to the report.

Loaded in every pytest of an environment that has the suite installed, so it imports nothing heavy until suite items
are collected.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.collecting import MODULE, HiddenModule, SuiteModule, is_ours, located, names_us
from conformance.errors import UsageError
from conformance.isolation.limits import DEFAULT
from conformance.phases import STOPWATCH
from conformance.processors import share_among, wait_politely
from conformance.siblings import claim_siblings, hidden_by_ours

if TYPE_CHECKING:
    from conformance.isolation.guard import Guard
    from conformance.reporting import Reporter
    from conformance.request import Request
    from conformance.resuming.earlier import Earlier
    from conformance.session import Session

SESSION: pytest.StashKey[Session] = pytest.StashKey()
GUARD: pytest.StashKey[Guard] = pytest.StashKey()
REPORTER: pytest.StashKey[Reporter] = pytest.StashKey()
RECORD: pytest.StashKey[dict[str, Any]] = pytest.StashKey()
ENVIRONMENT = "conformance_environment"
"""What a worker is told to set before it looks at its device."""

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
    """Let plugins hear the plan and every record."""
    from conformance import hooks

    pluginmanager.add_hookspecs(hooks)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the --conformance-* options."""
    group = parser.getgroup("conformance", "conformance of block-scaled FP8 matmul")
    many: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME"}
    subject = "a name, module:attribute, or a file"
    group.addoption("--conformance-backend", help=f"backend to judge: {subject}", **many)
    group.addoption("--conformance-quantiser", help=f"quantiser to judge: {subject}", **many)
    group.addoption("--conformance-linear", help=f"end-to-end linear to judge: {subject}", **many)
    group.addoption("--conformance-device", metavar="DEVICE", help="torch device (default: this machine's accelerator)")
    group.addoption("--conformance-profile", default="standard", metavar="PROFILE", help="quick, standard or full")
    group.addoption("--conformance-seed", type=int, default=0, metavar="S", help="suite seed (default 0)")
    group.addoption("--conformance-report", type=Path, metavar="DIR", help="folder for report.jsonl")
    group.addoption("--conformance-require", help="platform path that must have been exercised", **many)
    group.addoption("--conformance-case", help="case id; repeat for several, instead of a profile", **many)
    group.addoption("--conformance-model", type=Path, metavar="FILE", help="judge the layers of this config.json")
    group.addoption("--conformance-tp", type=int, default=1, metavar="N", help="tensor-parallel ranks of the model")
    group.addoption(
        "--conformance-deviations", type=Path, help="ledger of known deviations, beside the shipped", **many
    )
    group.addoption("--conformance-quarantined", action="store_true", help="run what could harm the device, too")
    group.addoption("--conformance-examples", type=int, metavar="COUNT", help="generated cases")
    group.addoption("--conformance-shard", metavar="I/N", help="share I of N of the plan; `conformance merge` joins")
    group.addoption(
        "--conformance-timeout", type=float, default=DEFAULT, metavar="S", help="seconds of a case in a worker; 0: any"
    )
    group.addoption("--conformance-resume", action="store_true", help="go on with the report in --conformance-report")
    group.addoption("--conformance-baseline", type=Path, metavar="FILE", help="report to compare this run with")


def request_of(config: pytest.Config) -> Request:
    """The options of ``config`` as a `Request`. Raises UsageError where a foreign package has our packages' names."""
    claim_siblings()
    from conformance.request import Request
    from conformance.shards.share import Shard

    option = config.option
    return Request(
        backends=tuple(option.conformance_backend),
        device=option.conformance_device,
        profile=option.conformance_profile,
        seed=option.conformance_seed,
        report=option.conformance_report,
        require=tuple(option.conformance_require),
        cases=tuple(option.conformance_case),
        model=option.conformance_model,
        tp=option.conformance_tp,
        examples=option.conformance_examples,
        deviations=tuple(option.conformance_deviations),
        quarantined=option.conformance_quarantined,
        shard=Shard.parse(option.conformance_shard) if option.conformance_shard else None,
        baseline=option.conformance_baseline,
        quantisers=tuple(option.conformance_quantiser),
        linears=tuple(option.conformance_linear),
    )


def session_of(config: pytest.Config) -> Session:
    """The judged session of ``config``, opened when first asked for. Raises pytest.UsageError for a wrong request."""
    if SESSION not in config.stash:
        try:
            request = request_of(config)
            wait_politely()
            from conformance.session import Session

            if is_worker(config):
                about: dict[str, Any] = config.workerinput  # type: ignore[attr-defined]
                os.environ.update(about.get(ENVIRONMENT, {}))
                share_among(int(about["workercount"]))
            config.stash[SESSION] = Session.open(request)
        except UsageError as error:
            if GUARD in config.stash:
                config.stash[GUARD].leave("misuse", str(error))
            raise pytest.UsageError(str(error)) from None
    return config.stash[SESSION]


def is_worker(config: pytest.Config) -> bool:
    """Whether this is a process of pytest-xdist: those send their reports to the controller, which keeps the books."""
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, and check at once what was asked for explicitly."""
    from conformance.probe import PATHS

    for name, path in PATHS.items():
        config.addinivalue_line("markers", f"{name}: cases of the platform path that needs {path.needs}")
    for name, meaning in CHECKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    if is_worker(config):
        _guard(config)
        _deselect(config)
    if _is_isolated(config):
        _isolate(config)
    elif _asked(config):
        session_of(config)
    # Whoever only collects, as editors do, judges nothing and must not replace a report.
    if not is_worker(config) and not config.option.collectonly:
        _open_report(config)


def _is_isolated(config: pytest.Config) -> bool:
    """Whether this process hands out cases of ours to workers, and so imports no kernel before they have done it."""
    option = config.option
    hands_out = not is_worker(config) and getattr(option, "dist", "no") != "no" and getattr(option, "tx", None)
    return bool(hands_out) and (_asked(config) or names_us(config))


def _claim_names() -> None:
    """Have our packages under their names. Raises pytest.UsageError where others have them already."""
    try:
        claim_siblings()
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None


def _isolate(config: pytest.Config) -> None:
    _claim_names()
    from conformance.isolation.controller import Isolation

    if config.option.maxworkerrestart is None:
        # Each worker that is lost costs a case its verdict, or ends the run: there is nothing to be bounded.
        config.option.maxworkerrestart = str(sys.maxsize)
    plugins = config.pluginmanager
    isolation = Isolation(lambda: session_of(config), plugins, config.option.conformance_timeout)
    plugins.register(isolation, "conformance-isolation")


def _guard(config: pytest.Config) -> None:
    """Watch over this process from here on: importing a kernel can end it already."""
    diary = config.workerinput.get("conformance_diary")  # type: ignore[attr-defined]
    if diary:
        _claim_names()
        from conformance.isolation.guard import Guard
        from conformance.isolation.worker import Watched

        config.stash[GUARD] = Guard(Path(diary), config.option.conformance_timeout)
        config.pluginmanager.register(Watched(config.stash[GUARD]), "conformance-watched")


def _deselect(config: pytest.Config) -> None:
    from conformance.resuming.deselecting import Deselecting

    told = Deselecting.told(config.workerinput)  # type: ignore[attr-defined]
    config.pluginmanager.register(told, "conformance-deselecting")


def _asked(config: pytest.Config) -> bool:
    """Whether any of our options was given; nobody else's session imports more than this module."""
    defaults = {
        "conformance_profile": "standard",
        "conformance_seed": 0,
        "conformance_tp": 1,
        "conformance_quarantined": False,
        "conformance_timeout": DEFAULT,
        "conformance_resume": False,
    }
    ours = {name: value for name, value in vars(config.option).items() if name.startswith("conformance_")}
    return any(value not in (None, [], defaults.get(name)) for name, value in ours.items())


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Give a worker one of the devices of this machine; a single one has the first, as a run without workers has.

    Kernels are not imported for that, and what is wrong with the device that is named the worker says itself.
    """
    if _is_isolated(node.config) and node.workerinput["workercount"] > 1:
        from conformance.devices import settings_for

        number = int(node.gateway.id.removeprefix("gw"))
        with contextlib.suppress(UsageError):
            node.workerinput[ENVIRONMENT] = settings_for(number, node.config.option.conformance_device, os.environ)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Open the session before the suite's modules are imported, so that what is wrong is said in one sentence."""
    config = session.config
    config.args[:] = located(config)
    if names_us(config) and not _is_isolated(config):
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
