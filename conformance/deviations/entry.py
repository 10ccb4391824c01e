"""One entry of a ledger: which cases of which backends deviate, on which machines, how, and who says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from cases import AnyCase, Problem, QuantCase
from conformance.probe import Platform
from conformance.versions import in_range

AXES = ("m", "n", "k", "n_blocks", "k_blocks")
"""Sizes of a problem that an entry may speak of."""


@dataclass(frozen=True)
class Machine:
    """A platform and the versions of the libraries under it, "" where there are none."""

    platform: Platform
    cublas: str = ""
    driver: str = ""

    @property
    def versions(self) -> dict[str, str]:
        """By the name that a condition gives them."""
        platform = self.platform
        return {
            "torch": platform.torch_version,
            "runtime": platform.runtime,
            "cublas": self.cublas,
            "driver": self.driver,
        }


@dataclass(frozen=True)
class Sizes:
    """A condition on one size: bounds are inclusive."""

    min: int | None = None
    max: int | None = None
    multiple_of: int | None = None
    not_multiple_of: int | None = None

    def hold(self, size: int) -> bool:
        """Whether ``size`` fulfils all of it."""
        return (
            (self.min is None or size >= self.min)
            and (self.max is None or size <= self.max)
            and (self.multiple_of is None or size % self.multiple_of == 0)
            and (self.not_multiple_of is None or size % self.not_multiple_of != 0)
        )


@dataclass(frozen=True)
class Where:
    """Machines: kinds of platform and architectures, all where none is named, and PEP 440 specifiers of versions."""

    platform: tuple[str, ...] = ()
    arch: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)

    def holds(self, machine: Machine) -> bool:
        """Whether ``machine`` is one of them."""
        here = machine.versions
        return (
            (not self.platform or machine.platform.kind in self.platform)
            and (not self.arch or machine.platform.arch in self.arch)
            and all(in_range(here[name], specifiers) for name, specifiers in self.versions.items())
        )


@dataclass(frozen=True)
class Entry:
    """A known deviation.

    ``cases`` and ``may_pass`` are globs over case ids; those of ``may_pass`` are right by chance, or show nothing.
    ``reasons`` are those of the vocabulary of verdicts that are foreseen, ``observed`` says the same in words. Where
    ``quarantine`` is set, the cases could harm the device and are run only when asked for.
    """

    id: str
    backends: tuple[str, ...]
    cases: tuple[str, ...]
    reasons: tuple[str, ...]
    observed: str
    reason: str
    link: str
    evidence: str
    since: str = ""
    until: str = ""
    may_pass: tuple[str, ...] = ()
    problem: Mapping[str, Sizes] = field(default_factory=dict)
    where: Where = Where()
    quarantine: bool = False

    def holds_on(self, machine: Machine) -> bool:
        """Whether the deviation is to be expected on ``machine``: ``since`` one torch release, ``until`` before one."""
        torch = machine.platform.torch_version
        since, until = (f">={self.since}" if self.since else ""), (f"<{self.until}" if self.until else "")
        return self.where.holds(machine) and in_range(torch, since) and in_range(torch, until)

    def covers(self, case: AnyCase, backend: str) -> bool:
        """Whether it speaks of ``case`` on ``backend``."""
        speaks = backend in self.backends and _matches(case.id, self.cases)
        return speaks and (not self.problem or (not isinstance(case, QuantCase) and self.strikes(case.problem)))

    def strikes(self, problem: Problem) -> bool:
        """Whether it speaks of products of this size."""
        return all(sizes.hold(getattr(problem, axis)) for axis, sizes in self.problem.items())

    def demands(self, case: AnyCase) -> bool:
        """Whether ``case``, which is covered, has to deviate."""
        return not _matches(case.id, self.may_pass)


def _matches(text: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)
