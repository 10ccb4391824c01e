"""A case: a problem with values, under an id that never depends on order and is never reused."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cases.families import FAMILIES, Family
from cases.problem import OPERAND_FORMATS, OUT_DTYPES, RECIPES, Problem

_ID = re.compile(
    r"gemm/(?P<recipe>[^/@]+)(@(?P<a>[^/-]+)-(?P<b>[^/-]+))?/m(?P<m>\d+)-n(?P<n>\d+)-k(?P<k>\d+)/(?P<out>[^/]+)/(?P<family>[^/]+)/s(?P<seed>\d+)"
)


@dataclass(frozen=True)
class Case:
    """One thing to try: ``problem``, the value ``family`` that fills it, and a ``seed`` within the family."""

    problem: Problem
    family: Family
    seed: int = 0

    @property
    def id(self) -> str:
        """``gemm/1x128-128x128/m83-n576-k7168/bf16/tagged-integers/s0``."""
        p = self.problem
        return f"gemm/{p.operation}/{p.shape}/{p.out}/{self.family.name}/s{self.seed}"

    @property
    def inputs(self) -> str:
        """Names the input bytes: cases that differ in output dtype alone share them."""
        return f"{self.problem.inputs}/{self.family.name}/s{self.seed}"


def parse_case(text: str) -> Case:
    """The case with id ``text``. Raises ValueError for anything that is no id of a buildable case."""
    match = _ID.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is no case id; they look like {EXAMPLE.id}")
    formats = {side: match[side] or "e4m3fn" for side in "ab"}
    for what, value, choices in (
        ("recipe", match["recipe"], RECIPES),
        ("operand format", formats["a"], OPERAND_FORMATS),
        ("operand format", formats["b"], OPERAND_FORMATS),
        ("output dtype", match["out"], tuple(OUT_DTYPES)),
        ("value family", match["family"], tuple(FAMILIES)),
    ):
        if value not in choices:
            raise ValueError(f"{text!r} names an unknown {what}; choose one of {', '.join(choices)}")
    m, n, k = (int(match[size]) for size in "mnk")
    problem = Problem(m, n, k, match["out"], match["recipe"], **formats)
    return _buildable(Case(problem, FAMILIES[match["family"]], int(match["seed"])), text)


def _buildable(case: Case, text: str) -> Case:
    """``case``, unless it has no operands or its id is not ``text`` to the letter: no case has two ids."""
    problem = case.problem
    if min(problem.m, problem.n, problem.k) < 1:
        raise ValueError(f"{text!r} has an empty operand; M, N and K start at 1")
    if case.id != text:
        raise ValueError(f"{text!r} is no case id; did you mean {case.id}?")
    reason = case.family.why_not(problem)
    if reason:
        raise ValueError(f"{text!r} cannot be built: {reason}")
    return case


EXAMPLE = Case(Problem(83, 576, 7168), FAMILIES["tagged-integers"])
"""Upstream's only test shape, in the family that shows a wrong scale."""
