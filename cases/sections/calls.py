"""Sections over what is done with the operands: layouts, relations, states, malformed ones."""

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
            # What every kernel owes to the bit, and what only some do; nothing hides in the rounding to float32.
            cases = [
                *fill(shape, ("tagged-integers",), (next(outs),), seeds=(i,), scenario=scenario),
                *fill(shape, (("uniform-codes", "quantised-normal")[i % 2],), ("fp32",), seeds=(i,), scenario=scenario),
            ]
            yield from graded(QUICK if i == 0 else STANDARD, cases)


ON_SHAPES_OF_THEIR_OWN = {
    "edited": ((6, 160, 304), (70, 304, 432), (2, 32, 1200)),
    "restrided": ((7, 176, 336), (71, 336, 464), (3, 48, 1232)),
}
"""Sizes that no other case has: what is kept from the first call of a shape has to be of these operands."""
FOR_FAKES = {
    (5, 144, 400): QUICK,  # N and K blocks both ragged
    (64, 256, 512): QUICK,  # both whole, as the fake kernel of v2 wants them before torch 2.14
    (83, 576, 1024): STANDARD,  # N blocks ragged, K blocks whole
    (130, 256, 400): QUICK,  # the other way round: the ledger owes one of each to every profile
    (5, 16, 128): STANDARD,  # less than one N block
    (33, 384, 640): STANDARD,  # whole K blocks in a number that is no multiple of 4
}
"""Sizes on which fake kernels of torch's own APIs part from eager ones."""


@section("states", "many calls: repeats, other work between, recycled memory, streams, graphs, torch.compile")
def _states() -> Iterator[Graded]:
    outs = cycle(OUTS)
    for i, shape in enumerate((*SMALL[:6], (64, 576, 2304))):
        for scenario in _scenarios("state"):
            if scenario.name in ON_SHAPES_OF_THEIR_OWN or scenario.name == "fake":
                continue
            slow = scenario.name.startswith("compiled")
            level = FULL if slow and i > 1 else STANDARD if slow or i else QUICK
            cases = fill(
                shape, ("tagged-integers", "uniform-codes")[i % 2 :], (next(outs),), seeds=(i,), scenario=scenario
            )
            yield from graded(level, list(cases)[:1] if slow else list(cases))
    for name, shapes in ON_SHAPES_OF_THEIR_OWN.items():
        for level, shape in zip((QUICK, STANDARD, STANDARD), shapes, strict=True):
            scenario = SCENARIOS[f"state/{name}"]
            yield from graded(level, fill(shape, ("tagged-integers",), (next(outs),), scenario=scenario))
    for out, (shape, level) in zip(cycle(("bf16", "fp16")), FOR_FAKES.items(), strict=False):
        yield from graded(level, fill(shape, ("tagged-integers",), (out,), scenario=SCENARIOS["state/fake"]))


@section("malformed", "operands that contradict each other, or of dtypes that nobody defined: refused, or right")
def _malformed() -> Iterator[Graded]:
    for level, shape, out in ((QUICK, SMALL[0], "fp32"), (STANDARD, SMALL[1], "bf16"), (STANDARD, SMALL[4], "fp16")):
        for scenario in _scenarios("malformed"):
            yield from graded(level, fill(shape, ("tagged-integers",), (out,), scenario=scenario))
