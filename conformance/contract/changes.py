"""What the contract says has changed between two versions of torch, for those who upgrade."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cases import Problem
from cases.problem import WHOLE_RECIPES
from conformance.contract.described import DEVICES, described, every_platform
from conformance.contract.promises import describe_promise
from conformance.contract.row import APIS
from conformance.contract.table import promise_of
from conformance.deviations.entry import Machine
from conformance.deviations.ledger import deviations_on
from conformance.probe import Platform
from conformance.versions import release

PROBLEMS = (
    Problem(83, 576, 7168),
    Problem(84, 7168, 2304),
    Problem(1, 16, 128),
    *(Problem(83, 576, 1024, recipe=recipe) for recipe in WHOLE_RECIPES),
)
"""Upstream's only test shape, one whose K blocks are no multiple of 4, one with a single scale on each side; one of
every recipe in which a scale covers all of K."""


@dataclass(frozen=True)
class Change:
    """On ``platform``, ``subject`` (an API at a shape, or a known deviation) was ``old`` and is ``new``."""

    platform: str
    subject: str
    old: str
    new: str


def changes(old: str | None, new: str | None, on: str | None = None) -> list[Change]:
    """What differs between torch ``old`` and ``new`` (this one where it is None) on all platforms, or on one.

    Raises UsageError where a version or the platform is none.
    """
    versions = [_version(text) for text in (old, new)]
    pairs = zip(*(_platforms(version, on) for version in versions), strict=True)
    return [change for before, after in pairs for change in (*_promised(before, after), *_known(before, after))]


def told(found: Iterable[Change]) -> list[str]:
    """One line a change."""
    lines = [f"{x.platform}  {x.subject}: {x.old} → {x.new}" for x in found]
    return lines or ["nothing that the contract speaks of changes"]


def _version(text: str | None) -> str:
    import torch

    return release(text or torch.__version__)


def _platforms(torch: str, on: str | None) -> Sequence[Platform]:
    if on is None:
        return every_platform(torch)
    archs = DEVICES.get(on, ())
    return [described(f"{on}/{arch}", torch) for arch in archs] if archs else [described(on, torch)]


def _promised(before: Platform, after: Platform) -> Iterator[Change]:
    for api in APIS:
        for problem in PROBLEMS:
            old, new = (describe_promise(promise_of(api, platform, problem)) for platform in (before, after))
            if old != new:
                yield Change(after.spelled, f"{APIS[api]} at {problem.operation}/{problem.shape}", old, new)


def _known(before: Platform, after: Platform) -> Iterator[Change]:
    old, new = ({entry.id: entry for entry in deviations_on(Machine(platform))} for platform in (before, after))
    for name in sorted(old.keys() ^ new.keys()):
        was, now = ("known to be wrong", "no longer known to be") if name in old else ("not known to be wrong", "wrong")
        entry = {**old, **new}[name]
        yield Change(after.spelled, f"{', '.join(entry.backends)}, {entry.observed} ({name})", was, now)
