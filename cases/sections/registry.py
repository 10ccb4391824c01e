"""What a section is, and how its cases are graded and filled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from cases.case import Case
from cases.families import FAMILIES
from cases.problem import BLOCK_RECIPES, Problem
from cases.scenarios import PLAIN, Scenario
from cases.shapes import Shape

QUICK, STANDARD, FULL = range(3)
Graded = tuple[int, Case]
"""A case and the least thorough profile that has it."""
OUTS = ("fp32", "bf16", "fp16")
ORDINARY = ("tagged-integers", "integer-codes", "uniform-codes", "quantised-normal")


@dataclass(frozen=True)
class Section:
    """A named part of the plan: ``what`` it is for, and its graded cases."""

    name: str
    what: str
    cases: Callable[[], Iterable[Graded]]


SECTIONS: dict[str, Section] = {}


def section(name: str, what: str) -> Callable[[Callable[[], Iterable[Graded]]], Callable[[], Iterable[Graded]]]:
    """Enter a generator of cases among the `SECTIONS`."""

    def enter(cases: Callable[[], Iterable[Graded]]) -> Callable[[], Iterable[Graded]]:
        SECTIONS[name] = Section(name, what, cases)
        return cases

    return enter


def fill(
    shape: Shape,
    families: Iterable[str],
    outs: Iterable[str],
    *,
    seeds: Iterable[int] = (0,),
    scenario: Scenario = PLAIN,
    recipe: str = BLOCK_RECIPES[0],
    formats: tuple[str, str] = ("e4m3fn", "e4m3fn"),
) -> Iterator[Case]:
    """The buildable cases of one shape: every family, seed and output dtype, equal inputs together."""
    for family in families:
        for seed in seeds:
            for out in outs:
                case = Case(Problem(*shape, out, recipe, *formats), FAMILIES[family], seed, scenario)
                if case.why_not() is None:
                    yield case


def graded(level: int, cases: Iterable[Case]) -> Iterator[Graded]:
    """All ``cases`` at one level."""
    return ((level, case) for case in cases)
