"""What was asked of a kernel, and how its operands were handed over: from the id alone, so that it needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cases import Case
from cases.places import shape_of
from cases.problem import OUT_DTYPES, Problem
from conformance.layouts import LAYOUTS, Layout

RECIPES: Mapping[str, str] = {
    "1x128-128x128": "a scale for 128 of K in each row of A, and for each 128 x 128 block of B",
    "128x128-1x128": "a scale for each 128 x 128 block of A, and for 128 of K in each row of B",
    "1x128-1x128": "a scale for 128 of K in each row of A and of B",
    "tensorwise": "one scale for all of A, one for all of B",
    "rowwise": "a scale for each row of A and of B, which covers all of K",
}
ASKED: Mapping[str, str] = {
    "gemm": "one plain call",
    "layout": "the same operands in other memory",
    "relation": "a second call, whose result must agree with the first one's",
    "state": "more calls, or other circumstances, around the plain one",
    "malformed": "operands that contradict each other: refused, or taken in the one sense that they have",
    "rule": "the raw call of the API with one thing spoiled",
}


def question(case: Case, seed: object) -> dict[str, Any]:
    """What ``case`` asks under the suite ``seed``."""
    problem, scenario = case.problem, case.scenario
    return {
        "product": _product(problem),
        "recipe": f"{problem.recipe}: {RECIPES[problem.recipe]}",
        "values": f"{case.family.name}, seed {case.seed} under suite seed {seed}",
        "values_catch": case.family.catches,
        "note": case.family.note(problem, case.seed),
        "scenario": f"{scenario.prefix}: {ASKED[scenario.kind]}",
        "scenario_catches": scenario.catches if scenario.name else "",
    }


def _product(problem: Problem) -> str:
    a, b = f"A [{problem.m}, {problem.k}] in {problem.a}", f"B [{problem.n}, {problem.k}] in {problem.b}"
    return f"{a} times {b} transposed, [{problem.m}, {problem.n}] in {OUT_DTYPES[problem.out]}"


def operands(case: Case, ranges: Mapping[str, str]) -> list[dict[str, Any]]:
    """Shapes, dtypes and strides of A, B, As and Bs as they were handed over, and the ``ranges`` of their values."""
    dtypes = {"A": case.problem.a, "B": case.problem.b, "As": "float32", "Bs": "float32"}
    return [_operand(case, name, dtype, ranges.get(name, "")) for name, dtype in dtypes.items()]


def _operand(case: Case, name: str, dtype: str, values: str) -> dict[str, Any]:
    shape, lie = shape_of(case.problem, name), getattr(layout_of(case), name)
    strides = list(lie.strides(*shape))
    return {
        "name": name,
        "dtype": dtype,
        "shape": list(shape),
        "strides": strides,
        "offset": lie.offset,
        "values": values,
    }


def layout_of(case: Case) -> Layout:
    """How the operands lie: as the scenario says where it is a layout, else as for a plain call."""
    return LAYOUTS[case.scenario.name if case.scenario.kind == "layout" else ""]
