"""A case: a problem with values, under an id that never depends on order and is never reused."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cases.families import FAMILIES, Family, Tier
from cases.problem import OPERAND_FORMATS, OUT_DTYPES, RECIPES, Problem
from cases.scenarios import PLAIN, SCENARIOS, Kind, Scenario
from cases.spelling import check_choices, checked, numbers_in

_ID = re.compile(
    r"(?P<scenario>gemm|\w+/[^/]+)/(?P<recipe>[^/@]+)(@(?P<a>[^/-]+)-(?P<b>[^/-]+))?/m(?P<m>\d+)-n(?P<n>\d+)-k(?P<k>\d+)/(?P<out>[^/]+)/(?P<family>[^/]+)/s(?P<seed>\d+)"
)

MARKS: dict[Kind, str] = {
    "gemm": "",
    "layout": "memory",
    "relation": "metamorphic",
    "state": "determinism",
    "malformed": "contract",
    "rule": "contract",
}
"""The marker of each kind of scenario."""


@dataclass(frozen=True)
class Case:
    """One thing to try: a ``problem``, the ``family`` of values that fills it under a ``seed``, and a ``scenario``."""

    problem: Problem
    family: Family
    seed: int = 0
    scenario: Scenario = PLAIN

    @property
    def id(self) -> str:
        """``gemm/1x128-128x128/m83-n576-k7168/bf16/tagged-integers/s0``."""
        p = self.problem
        return f"{self.scenario.prefix}/{p.operation}/{p.shape}/{p.out}/{self.family.name}/s{self.seed}"

    @property
    def inputs(self) -> str:
        """Names the input bytes: cases that differ in output dtype alone share them, most scenarios do as well."""
        shared = "/shared-scales" if self.scenario.shares_scales else ""
        return f"{self.problem.inputs}/{self.family.name}/s{self.seed}{shared}"

    @property
    def check(self) -> str:
        """What this case is a case of: its value family, or its scenario where that is more than a plain call."""
        return self.family.name if self.scenario is PLAIN else self.scenario.prefix

    @property
    def marks(self) -> tuple[str, ...]:
        """Names of the pytest markers that say what is checked."""
        mine = (
            MARKS[self.scenario.kind],
            "special_values" if self.family.is_special else "",
            "huge" if self.is_huge else "",
        )
        return tuple(mark for mark in mine if mark)

    @property
    def is_huge(self) -> bool:
        """Whether the result or an operand is larger than 32-bit indices or 4 GiB."""
        p = self.problem
        return p.m * p.n >= 1 << 31 or max(p.m, p.n) * p.k >= 1 << 32

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return self.problem.macs

    @property
    def catches(self) -> str:
        """What is caught by it."""
        return self.scenario.catches if self.scenario.name else self.family.catches

    @property
    def tier(self) -> Tier:
        """What results are held to."""
        return self.family.tier

    def why_not(self) -> str | None:
        """Why this case cannot be built, or None."""
        seeds = self.family.seeds(self.problem)
        if seeds is not None and self.seed >= seeds:
            return f"{self.family.name} has the seeds s0 to s{seeds - 1} here"
        if self.scenario.shares_scales and not self.family.may_share_scales:
            return f"{self.family.name} needs scales of its own in every row, and {self.scenario.prefix} shares them"
        if self.scenario.kind == "rule" and self.tier != "exact":
            return f"{self.scenario.prefix} takes values whose products are exact"
        return self.family.why_not(self.problem) or self.scenario.why_not(self.problem)


def parse_product(text: str) -> Case:
    """The case of a product with id ``text``. Raises ValueError for anything that is no id of a buildable case."""
    match = _ID.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is no case id; they look like {EXAMPLE.id}")
    formats = {side: match[side] or "e4m3fn" for side in "ab"}
    check_choices(
        text,
        ("scenario", match["scenario"], tuple(SCENARIOS)),
        ("recipe", match["recipe"], RECIPES),
        ("operand format", formats["a"], OPERAND_FORMATS),
        ("operand format", formats["b"], OPERAND_FORMATS),
        ("output dtype", match["out"], tuple(OUT_DTYPES)),
        ("value family", match["family"], tuple(FAMILIES)),
    )
    m, n, k, seed = numbers_in(text, *match.group("m", "n", "k", "seed"))
    problem = Problem(m, n, k, match["out"], match["recipe"], **formats)
    case = Case(problem, FAMILIES[match["family"]], seed, SCENARIOS[match["scenario"]])
    return _buildable(case, text)


def _buildable(case: Case, text: str) -> Case:
    """``case``, unless it has no operands or its id is not ``text`` to the letter: no case has two ids."""
    if min(case.problem.n, case.problem.k) < 1:
        raise ValueError(f"{text!r} has an empty weight; N and K start at 1")
    return checked(case, text)


EXAMPLE = Case(Problem(83, 576, 7168), FAMILIES["tagged-integers"])
"""Upstream's only test shape, in the family that shows a wrong scale."""
