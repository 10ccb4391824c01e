"""A case for an end-to-end linear: quantise, multiply, add a bias, cast; under an id that never depends on order."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cases.family import Tier
from cases.linears.families import FAMILIES, LinearFamily
from cases.problem import OUT_DTYPES, Problem
from cases.quantising.options import OF_INPUTS, OPTIONS, marks_of, parse_options, spelled, why_not_flattened
from cases.spelling import check_choices, checked, numbers_in

PREFIX = "linear"
RECIPE = "1x128-128x128"
BIAS = {True: "bias", False: "no-bias"}
_ID = re.compile(
    r"linear/(?P<recipe>[^/@]+)(@(?P<options>[^/]+))?/m(?P<m>\d+)-n(?P<n>\d+)-k(?P<k>\d+)"
    r"/(?P<out>[^/]+)/(?P<bias>[^/]+)/(?P<family>[^/]+)/s(?P<seed>\d+)"
)


@dataclass(frozen=True)
class LinearCase:
    """x [m, k] of the output's dtype times a weight [n, k] in e4m3fn with 128x128 scales, maybe with a bias [n]."""

    problem: Problem
    has_bias: bool
    family: LinearFamily
    seed: int = 0
    options: tuple[str, ...] = ()

    section = "linears"
    """The part of the plan that it belongs to."""

    @property
    def id(self) -> str:
        """``linear/1x128-128x128/m83-n576-k7168/bf16/bias/tagged-rows/s0``."""
        p = self.problem
        what = f"{p.recipe}{spelled(self.options)}"
        return f"{PREFIX}/{what}/{p.shape}/{p.out}/{BIAS[self.has_bias]}/{self.family.name}/s{self.seed}"

    @property
    def inputs(self) -> str:
        """Names the input bytes: cases that differ in dtypes, bias and layout share their values."""
        return f"{PREFIX}/{self.problem.inputs}/{self.family.name}/s{self.seed}"

    @property
    def check(self) -> str:
        """What this case is a case of."""
        return f"linear/{'+'.join(self.options) or self.family.name}"

    @property
    def marks(self) -> tuple[str, ...]:
        """Names of the pytest markers that say what is checked."""
        return marks_of(self.options, self.family.is_special)

    @property
    def tier(self) -> Tier:
        """What results are held to."""
        return self.family.tier

    @property
    def macs(self) -> int:
        """Multiply-adds."""
        return self.problem.macs

    @property
    def catches(self) -> str:
        """What is caught by it."""
        return "; ".join(OPTIONS[name].catches for name in self.options) or self.family.catches

    def why_not(self) -> str | None:
        """Why this case cannot be built, or None."""
        return why_not_flattened(self.options, self.problem.m) or self.family.why_not(self.problem)


def parse_linear(text: str) -> LinearCase:
    """The case with id ``text``. Raises ValueError for anything that is no id of a buildable case."""
    match = _ID.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is no case id; they look like {EXAMPLE.id}")
    check_choices(
        text,
        ("recipe of a linear", match["recipe"], (RECIPE,)),
        ("output dtype", match["out"], tuple(OUT_DTYPES)),
        ("kind of bias", match["bias"], tuple(BIAS.values())),
        ("value family", match["family"], tuple(FAMILIES)),
    )
    options = parse_options(match["options"], text, OF_INPUTS)
    m, n, k, seed = numbers_in(text, *match.group("m", "n", "k", "seed"))
    family, problem = FAMILIES[match["family"]], Problem(m, n, k, match["out"])
    case = LinearCase(problem, match["bias"] == BIAS[True], family, seed, options)
    return _buildable(case, text)


def _buildable(case: LinearCase, text: str) -> LinearCase:
    if min(case.problem.n, case.problem.k) < 1:
        raise ValueError(f"{text!r} has an empty weight; N and K start at 1")
    return checked(case, text)


EXAMPLE = LinearCase(Problem(83, 576, 7168), True, FAMILIES["tagged-rows"])
"""Upstream's only shape, with a bias."""
