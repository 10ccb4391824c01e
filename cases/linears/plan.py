"""Which cases for linears a profile tries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product

from cases.linears.case import LinearCase
from cases.linears.families import FAMILIES
from cases.problem import Problem
from cases.quantising.options import OF_INPUTS
from cases.quantising.plan import DEPTH, FULL, QUICK, STANDARD
from cases.shapes import Shape

Graded = tuple[int, LinearCase]
SMALL: tuple[Shape, ...] = ((5, 144, 384), (1, 128, 256), (83, 272, 640), (130, 256, 128), (64, 384, 1024))
UPSTREAM: Shape = (83, 576, 7168)
RAGGED: tuple[Shape, ...] = ((5, 144, 400), (83, 100, 272), (3, 17, 129), (2, 1, 1))
EVEN: tuple[Shape, ...] = ((6, 272, 384), (82, 144, 640))
"""An even number of rows that is no multiple of 4: two of them flattened are another thing than one."""


@lru_cache(maxsize=8)
def linears(profile: str = "standard") -> tuple[LinearCase, ...]:
    """The cases of ``profile``, those with the same input bytes next to one another; none of the survey."""
    by_inputs: dict[str, dict[str, LinearCase]] = {}
    for level, case in _graded():
        if level <= DEPTH.get(profile, -1):
            by_inputs.setdefault(case.inputs, {}).setdefault(case.id, case)
    return tuple(case for group in by_inputs.values() for case in group.values())


def fill(
    shape: Shape,
    families: Iterable[str],
    outs: Iterable[str],
    *,
    biases: Iterable[bool] = (True, False),
    seeds: Iterable[int] = (0,),
    options: Iterable[tuple[str, ...]] = ((),),
) -> Iterator[LinearCase]:
    """The buildable cases of one shape."""
    for family, seed, out, bias, chosen in product(families, seeds, tuple(outs), tuple(biases), tuple(options)):
        case = LinearCase(Problem(*shape, out), bias, FAMILIES[family], seed, chosen)
        if case.why_not() is None:
            yield case


def _graded() -> Iterator[Graded]:
    def at(level: int, cases: Iterable[LinearCase]) -> Iterator[Graded]:
        return ((level, case) for case in cases)

    outs = ("bf16", "fp16", "fp32")
    plain = [name for name, family in FAMILIES.items() if not family.is_special]
    for i, shape in enumerate(SMALL):
        yield from at(QUICK if i < 3 else STANDARD, fill(shape, plain, (outs[i % 3],)))
        yield from at(STANDARD, fill(shape, plain, outs, seeds=(0, 1)))
        yield from at(FULL, fill(shape, plain, outs, seeds=range(4)))
        yield from at(QUICK if not i else STANDARD, fill(shape, ("one-special",), ("bf16",), seeds=range(4)))
    yield from at(QUICK, fill(UPSTREAM, ("tagged-rows",), ("bf16",)))
    yield from at(STANDARD, fill(UPSTREAM, plain, outs, biases=(True,)))
    yield from at(QUICK, fill((0, 144, 384), ("tagged-rows",), ("bf16",)))
    for i, shape in enumerate(RAGGED):
        yield from at(STANDARD if i else QUICK, fill(shape, ("tagged-rows", "zero-groups"), ("bf16", "fp32")))
    for i, shape in enumerate(EVEN):
        level, options = STANDARD if i else QUICK, tuple((name,) for name in OF_INPUTS)
        yield from at(level, fill(shape, ("tagged-rows",), ("bf16",), biases=(True,), options=options))
        yield from at(FULL, fill(shape, ("integer-codes",), outs, options=options))
    for m in (2, 3, 4, 7, 8, 81, 82, 84, 129):
        yield from at(STANDARD, fill((m, 144, 384), ("tagged-rows",), ("bf16",), biases=(True,)))
