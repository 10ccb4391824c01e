"""What PyTorch promises for scaled FP8, by API, platform and version: the one table that expectations, marks
and the doctor are derived from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from cases import Problem
from cases.problem import BLOCK_RECIPES, RECIPES, WHOLE_RECIPES
from conformance import refusals
from conformance.probe import Platform
from conformance.refusals import Refusal

Evidence = Literal["measured", "read", "derived", "assumed"]


@dataclass(frozen=True)
class Compute:
    """A right product is owed. ``via`` names another recipe that the call is taken for.

    ``may_decline``: nobody but the kernel itself knows what it implements, and it was not asked beforehand, so
    NotImplementedError is an answer too.
    """

    via: str = ""
    may_decline: bool = False


@dataclass(frozen=True)
class Refuse:
    """One of ``refusals`` is owed, or any exception where none is named; with nothing touched."""

    refusals: tuple[Refusal, ...] = ()

    def accepts(self, error: BaseException) -> bool:
        """Whether ``error`` is such a refusal."""
        return not self.refusals or any(refusal.matches(error) for refusal in self.refusals)

    def __str__(self) -> str:
        return " or ".join(map(str, self.refusals)) or "a refusal"


@dataclass(frozen=True)
class RightOrRefused:
    """Nothing is known here: a right product or any exception that leaves everything alone. ``via`` as in `Compute`."""

    via: str = ""


@dataclass(frozen=True)
class Absent:
    """The API does not exist in this torch: declared unsupported, with ``reason``."""

    reason: str


Promise = Compute | Refuse | RightOrRefused | Absent


def _any_problem(_: Problem) -> bool:
    return True


def _one_scale_each(problem: Problem) -> bool:
    return problem.m == 1 and problem.k_blocks == 1 and problem.n_blocks == 1


def _needs_padded_scales(problem: Problem) -> bool:
    return problem.k_blocks % 4 != 0


@dataclass(frozen=True)
class Row:
    """One line of the table: where it applies, what is promised there, and how we know."""

    api: Literal["v1", "v2"]
    kind: str
    promise: Promise
    evidence: Evidence
    archs: frozenset[str] | None = None
    torch: str = ""
    runtime: str = ""
    problems: Callable[[Problem], bool] = _any_problem
    recipes: tuple[str, ...] = BLOCK_RECIPES

    def applies(self, api: str, platform: Platform, problem: Problem) -> bool:
        """Whether this line speaks of ``problem`` through ``api`` on ``platform``."""
        return (
            (self.api, self.kind) == (api, platform.kind)
            and problem.recipe in self.recipes
            and (self.archs is None or platform.arch in self.archs)
            and in_range(platform.torch_version, self.torch)
            and in_range(platform.runtime, self.runtime)
            and self.problems(problem)
        )


@cache
def in_range(version: str, specifiers: str) -> bool:
    """Whether ``version`` lies in ``specifiers``; local parts (+cu130) are ignored, an unreadable version is not in."""
    if not specifiers:
        return True
    try:
        return SpecifierSet(specifiers).contains(Version(version).base_version, prereleases=True)
    except InvalidVersion:
        return False


def _refuse(*which: Refusal) -> Refuse:
    return Refuse(which)


SM90 = frozenset({"sm90"})
SM80 = frozenset({"sm70", "sm75", "sm80", "sm86", "sm87"})
NEWER = frozenset({"sm89", "sm100", "sm103", "sm110", "sm120", "sm121"})
GFX942, GFX950 = frozenset({"gfx942"}), frozenset({"gfx950"})
NO_V2 = Absent("torch.nn.functional.scaled_mm came with torch 2.10: upgrade torch, or judge torch-v1")
TENSORWISE = Compute(via="tensor-wise scaling: with one scale on each side v1 cannot tell the recipes apart")

TABLE: tuple[Row, ...] = (
    # v1, torch._scaled_mm: the recipe is inferred from the scales
    Row("v1", "cuda", _refuse(refusals.ARCH), "read", archs=SM80),
    Row("v1", "cuda", _refuse(refusals.OLD_CUDA), "read", archs=SM90 | NEWER, runtime="<12.9"),
    Row("v1", "cuda", _refuse(refusals.SCALING_V1), "read", SM90, torch="<2.10", problems=_needs_padded_scales),
    Row("v1", "cuda", Compute(), "measured", archs=SM90),
    Row("v1", "cuda", _refuse(refusals.CUBLAS), "derived", archs=NEWER),
    Row("v1", "rocm", TENSORWISE, "derived", problems=_one_scale_each),
    Row("v1", "rocm", _refuse(refusals.OLD_CUDA), "derived"),
    Row("v1", "xpu", TENSORWISE, "derived", problems=_one_scale_each),
    Row("v1", "xpu", _refuse(refusals.SCALING_V1), "read", torch="<2.13"),
    Row("v1", "xpu", Compute(), "read"),
    Row("v1", "cpu", TENSORWISE, "measured", problems=_one_scale_each),
    Row("v1", "cpu", _refuse(refusals.CPU_TENSORWISE_ONLY), "measured", torch="<2.12"),
    Row("v1", "cpu", _refuse(refusals.CPU_SCALING), "measured"),
    Row("v1", "cpu", Compute(), "measured", torch=">=2.12", recipes=WHOLE_RECIPES),
    Row("v1", "cpu", Compute(), "read", torch=">=2.8", recipes=("tensorwise",)),
    Row("v1", "cpu", _refuse(refusals.CPU_TENSORWISE_ONLY), "derived", torch=">=2.8,<2.12", recipes=("rowwise",)),
    Row("v1", "mps", _refuse(refusals.NO_KERNEL), "read"),
    # v2, torch.nn.functional.scaled_mm: the recipe is told
    Row("v2", "cuda", NO_V2, "read", torch="<2.10", recipes=RECIPES),
    Row("v2", "rocm", NO_V2, "read", torch="<2.10", recipes=RECIPES),
    Row("v2", "xpu", NO_V2, "read", torch="<2.10", recipes=RECIPES),
    Row("v2", "cpu", NO_V2, "read", torch="<2.10", recipes=RECIPES),
    Row("v2", "mps", NO_V2, "read", torch="<2.10", recipes=RECIPES),
    Row("v2", "cuda", _refuse(refusals.ARCH), "read", archs=SM80),
    Row("v2", "cuda", _refuse(refusals.OLD_CUBLAS), "read", archs=SM90, runtime="<12.9"),
    Row("v2", "cuda", Compute(), "measured", archs=SM90),
    Row("v2", "cuda", _refuse(refusals.SM90_ONLY), "read", archs=NEWER),
    Row("v2", "rocm", _refuse(refusals.SCALING_V2), "read", archs=GFX942),
    Row("v2", "rocm", _refuse(refusals.ROCM), "read", archs=GFX950),
    Row("v2", "xpu", _refuse(refusals.SCALING_V2), "read", torch="<2.13"),
    Row("v2", "xpu", Compute(), "read"),
    Row("v2", "cpu", _refuse(refusals.NO_KERNEL), "read", torch="<2.12", recipes=RECIPES),
    Row("v2", "cpu", Compute(), "measured", recipes=WHOLE_RECIPES),
    Row("v2", "cpu", _refuse(refusals.CPU_SCALING), "measured"),
    Row("v2", "mps", _refuse(refusals.NO_KERNEL), "read", torch="<2.15"),
    Row("v2", "mps", _refuse(refusals.MPS_V2), "read"),
)
"""Read from the top: the first line that applies decides."""


def promise_of(api: str, platform: Platform, problem: Problem) -> Promise:
    """What ``api`` ("v1" or "v2") promises for ``problem`` on ``platform``."""
    return next((row.promise for row in TABLE if row.applies(api, platform, problem)), RightOrRefused())


@dataclass(frozen=True)
class Defect:
    """Something known to be wrong in a range of versions, for the doctor."""

    api: str
    kind: str
    archs: frozenset[str]
    torch: str
    what: str
    source: str


DEFECTS = (
    Defect(
        "v1",
        "cuda",
        SM90,
        ">=2.10",
        "silently wrong where ceil(K/128) is no multiple of 4 and N > 128: B scales are read with a padded leading "
        "dimension that v1 does not accept (use torch.nn.functional.scaled_mm)",
        "pytorch#164953",
    ),
)


def defects(platform: Platform) -> list[Defect]:
    """The known defects of ``platform``."""
    return [
        d
        for d in DEFECTS
        if d.kind == platform.kind and platform.arch in d.archs and in_range(platform.torch_version, d.torch)
    ]
