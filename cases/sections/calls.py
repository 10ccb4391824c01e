"""Sections over what is done with the operands: layouts, relations, states."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

from cases.scenarios import SCENARIOS, Scenario
from cases.sections.registry import FULL, OUTS, QUICK, STANDARD, Graded, fill, graded, section
from cases.shapes import SMALL


def _scenarios(kind: str) -> list[Scenario]:
    return [scenario for scenario in SCENARIOS.values() if scenario.kind == kind]


@section("layouts", "the same operands in other memory: strides, offsets, padding, poison, a given out")
def _layouts() -> Iterator[Graded]:
    outs = cycle(OUTS)
    for i, shape in enumerate(SMALL):
        for scenario in _scenarios("layout"):
            families = ("tagged-integers",) if i % 2 else ("tagged-integers", "uniform-codes")
            cases = list(fill(shape, families, (next(outs),), seeds=(i,), scenario=scenario))
            yield from graded(QUICK if i == 0 else STANDARD, cases)


@section("relations", "two calls whose results must agree")
def _relations() -> Iterator[Graded]:
    outs = cycle(OUTS)
    for i, shape in enumerate(SMALL):
        for scenario in _scenarios("relation"):
            families = ("uniform-codes", "quantised-normal")
            cases = list(fill(shape, families, (next(outs),), seeds=(i,), scenario=scenario))
            yield from graded(QUICK if i == 0 else STANDARD, cases)


@section("states", "many calls: repeats, other work between, recycled memory, streams, graphs, torch.compile")
def _states() -> Iterator[Graded]:
    outs = cycle(OUTS)
    for i, shape in enumerate((*SMALL[:6], (64, 576, 2304))):
        for scenario in _scenarios("state"):
            slow = scenario.name.startswith("compiled")
            level = FULL if slow and i > 1 else STANDARD if slow or i else QUICK
            cases = fill(
                shape, ("tagged-integers", "uniform-codes")[i % 2 :], (next(outs),), seeds=(i,), scenario=scenario
            )
            yield from graded(level, list(cases)[:1] if slow else list(cases))
