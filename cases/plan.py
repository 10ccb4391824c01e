"""Which cases a profile tries, and in which order: cases that share input bytes stand together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from cases.case import Case
from cases.families import FAMILIES, PLANNED, Family
from cases.problem import Problem
from cases.survey import survey

Profile = Literal["quick", "standard", "full", "survey"]
PROFILES: tuple[str, ...] = get_args(Profile)

UPSTREAM = (83, 576, 7168)
"""The one shape that the upstream kernel was merged with."""
M_SIZES = (1, 3, 5, 7, 17, 83, 127, 129)
N_SIZES = (16, 112, 128, 144, 256, 272, 576)
K_SIZES = (128, 144, 256, 384, 512, 640, 1024, 1040, 2304, 7168)
OUTS = ("fp32", "bf16", "fp16")

LAYERS = (
    (84, 7168, 2304),
    (84, 7168, 256),
    (84, 5120, 4352),
    (84, 5120, 6400),
    (84, 5120, 3200),
    (84, 2560, 4864),
    (84, 7168, 2048),
    (4096, 7168, 2304),
)
"""DeepSeek-V3 and Qwen3 down and output projections under tensor parallelism (sources in docs/cases.md)."""


def grid() -> Iterator[tuple[int, int, int]]:
    """Shapes in which every pair of an M, an N and a K of the lists above meets at least once."""
    for i, m in enumerate(M_SIZES):
        for j, k in enumerate(K_SIZES):
            yield m, N_SIZES[(i + j) % len(N_SIZES)], k


def _fill(shape: tuple[int, int, int], outs: tuple[str, ...], seed: int, families: tuple[Family, ...]) -> list[Case]:
    cases = [Case(Problem(*shape, out=out), family, seed) for family in families for out in outs]
    return [case for case in cases if case.why_not() is None]


def _quick(families: tuple[Family, ...]) -> Iterator[Case]:
    for i, shape in enumerate(grid()):
        if shape[2] <= 1024:
            yield from _fill(shape, (OUTS[i % 3],), 0, families)
    yield from _fill(UPSTREAM, ("bf16",), 0, families)


def _standard(families: tuple[Family, ...]) -> Iterator[Case]:
    for i, shape in enumerate(grid()):
        yield from _fill(shape, (OUTS[i % 3], OUTS[(i + 1) % 3]), i % 3, families)
    for seed in range(3):
        yield from _fill(UPSTREAM, OUTS if seed == 0 else ("bf16",), seed, families)


def _full(families: tuple[Family, ...]) -> Iterator[Case]:
    yield from _standard(families)
    for shape in grid():
        for seed in range(3):
            yield from _fill(shape, OUTS, seed, families)
    for shape in LAYERS:
        yield from _fill(shape, OUTS, 0, families)


def plan(profile: Profile = "standard") -> tuple[Case, ...]:
    """The cases of ``profile``, without repeats, those with the same input bytes next to one another."""
    families = tuple(FAMILIES[name] for name in PLANNED)
    build = {"quick": _quick, "standard": _standard, "full": _full, "survey": survey}[profile]
    by_inputs: dict[str, dict[str, Case]] = {}
    for case in build(families):
        by_inputs.setdefault(case.inputs, {})[case.id] = case
    return tuple(case for group in by_inputs.values() for case in group.values())
