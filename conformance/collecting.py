"""Finding the suite's module by every name that it goes by, whatever a project says of its own test files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from conformance.siblings import hidden_by_ours

PACKAGE = Path(__file__).resolve().parent
MODULE = PACKAGE / "suite" / "test_products.py"
SHOWN = MODULE.relative_to(PACKAGE).as_posix()
"""The module in node ids, where it lies outside of the project."""


class SuiteModule(pytest.Module):
    """The suite's module. A project's ``python_files`` and ``python_functions`` speak of tests of its own."""

    @classmethod
    def under(cls, parent: pytest.Collector) -> SuiteModule:
        """The module as ``parent`` collects it; its node id does not depend on how it was asked for."""
        nodeid = None if parent.config.rootpath in MODULE.parents else SHOWN
        module: SuiteModule = cls.from_parent(parent, path=MODULE, nodeid=nodeid)
        return module

    def funcnamefilter(self, name: str) -> bool:
        """Whether ``name`` is that of a test."""
        return name.startswith("test_")


class HiddenModule(pytest.File):
    """A test module of a project's own package that cannot be imported beside the suite, since ours has its name."""

    def collect(self) -> Iterable[pytest.Item]:
        """Raise the sentence."""
        raise self.CollectError(
            f"{self.path.name} is in a package named {hidden_by_ours(self.path)!r}, as one of the suite's is: "
            "run the suite in a session of its own"
        )


def located(config: pytest.Config) -> list[str]:
    """What the command line names, by its path where that is in this package, and else as it stands.

    With ``--pyargs`` a dotted name is taken, too, and always a node id as pytest shows it.
    """
    return [_located(argument, config.option.pyargs) for argument in config.args]


def names_us(config: pytest.Config) -> bool:
    """Whether the command line names something in this package."""
    return any(is_ours(Path(argument.split("::")[0])) for argument in located(config))


def _located(argument: str, modules: bool) -> str:
    name, separator, rest = argument.partition("::")
    place = _place_of(name, modules)
    if place is None:
        return argument
    # All of the package that there is to collect.
    return str(MODULE if place in (*MODULE.parents, MODULE.with_suffix("")) else place) + separator + rest


def _place_of(name: str, modules: bool) -> Path | None:
    if name == SHOWN and not Path(name).exists():
        return MODULE
    package, *inner = name.split(".")
    place = PACKAGE.joinpath(*inner) if modules and package == PACKAGE.name else Path(name).resolve()
    return place if is_ours(place) else None


def is_ours(path: Path) -> bool:
    """Whether ``path`` lies in this package."""
    return PACKAGE in (path, *path.parents)
