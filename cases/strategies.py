"""Hypothesis strategies over problems, values and scenarios, and the batches that plans draw from them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cases.case import Case
from cases.families import FAMILIES, Family
from cases.problem import OUT_DTYPES, Problem
from cases.scenarios import PLAIN, SCENARIOS
from cases.spelling import numbers_in

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

EXAMPLES = 100
"""Cases that one batch draws."""
_ID = re.compile(r"generated/s(0|[1-9]\d*)")


@dataclass(frozen=True)
class Batch:
    """``EXAMPLES`` generated cases: the same ones for the same ``seed``, suite seed and version of Hypothesis."""

    seed: int

    @property
    def id(self) -> str:
        """``generated/s7``."""
        return f"generated/s{self.seed}"


def parse_batch(text: str) -> Batch | None:
    """The batch with id ``text``, or None where it is none. Raises ValueError for a seed beyond all sense."""
    match = _ID.fullmatch(text)
    return Batch(*numbers_in(text, match[1])) if match else None


def shapes() -> SearchStrategy[tuple[int, int, int]]:
    """M of any kind to 300, N and K multiples of 16 to 600 and 4400; the smallest shrink to 1, 16 and 16."""
    from hypothesis import strategies as st

    edges = [b + d for b in (16, 32, 64, 128, 256) for d in (-1, 0, 1)]
    m = st.one_of(st.integers(1, 17), st.sampled_from(edges), st.integers(1, 300))
    n = st.one_of(st.integers(1, 9), st.integers(1, 37)).map(lambda x: 16 * x)
    k = st.one_of(st.integers(1, 17), st.integers(1, 80), st.integers(1, 275)).map(lambda x: 16 * x)
    return st.tuples(m, n, k).filter(lambda s: s[0] * s[1] * s[2] <= 1 << 25)


def generated_cases() -> SearchStrategy[Case]:
    """Cases of every family, output dtype and layout that any kernel can be asked for, and the cheap relations."""
    from hypothesis import strategies as st

    families: list[Family] = [f for f in FAMILIES.values() if f.tier != "declared"]
    scenarios = [s for s in SCENARIOS.values() if s.kind in ("layout", "relation")]

    @st.composite
    def draw_case(draw: st.DrawFn) -> Case:
        problem = Problem(*draw(shapes()), out=draw(st.sampled_from(sorted(OUT_DTYPES, reverse=True))))
        fitting = [family for family in families if family.why_not(problem) is None]
        family = draw(st.sampled_from(fitting))
        seeds = family.seeds(problem)
        seed = draw(st.integers(0, 999 if seeds is None else seeds - 1))
        allowed = [s for s in scenarios if not family.is_special and Case(problem, family, seed, s).why_not() is None]
        scenario = draw(st.one_of(st.just(PLAIN), st.sampled_from([PLAIN, PLAIN, *allowed])))
        return Case(problem, family, seed, scenario)

    return draw_case()
