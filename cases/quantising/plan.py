"""Which cases for quantisers a profile tries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product

from cases.quantising.case import QuantCase
from cases.quantising.families import FAMILIES
from cases.quantising.granularity import Granularity

QUICK, STANDARD, FULL = range(3)
DEPTH = {"quick": QUICK, "standard": STANDARD, "full": FULL}
Graded = tuple[int, QuantCase]
UPSTREAM = (83, 7168)
ROWS_AND_K = ((5, 384), (1, 128), (83, 640), (130, 256), (4, 1024), (7, 2304))
"""Several groups and rows, one of everything, more rows than a tile has, whole and odd numbers of groups."""
RAGGED = ((5, 400), (83, 272), (3, 72), (2, 129), (1, 1))
WEIGHTS = ((144, 400), (128, 128), (576, 640), (1, 272), (257, 129))
SCALES: tuple[tuple[str, ...], ...] = (
    ("column-major",),
    ("tma-aligned",),
    ("ue8m0",),
    ("column-major", "ue8m0"),
    ("tma-aligned", "ue8m0"),
)
INPUTS = ("x-rows-padded", "x-offset", "x-column-major", "x-3d", "twice")
SPECIALS = 24
"""Seeds of `one-special`: every value in every place."""


@lru_cache(maxsize=8)
def quantisations(profile: str = "standard") -> tuple[QuantCase, ...]:
    """The cases of ``profile``, those with the same input bytes next to one another; none of the survey."""
    by_inputs: dict[str, dict[str, QuantCase]] = {}
    for level, case in _graded():
        if level <= DEPTH.get(profile, -1):
            by_inputs.setdefault(case.inputs, {}).setdefault(case.id, case)
    return tuple(case for group in by_inputs.values() for case in group.values())


def fill(
    granularity: str,
    shape: tuple[int, int],
    families: Iterable[str],
    *,
    source: str = "bf16",
    target: str = "e4m3fn",
    seeds: Iterable[int] = (0,),
    options: Iterable[tuple[str, ...]] = ((),),
) -> Iterator[QuantCase]:
    """The buildable cases of one shape."""
    kind = Granularity.parse(granularity)
    assert kind is not None
    for family, seed, chosen in product(families, tuple(seeds), tuple(options)):
        case = QuantCase(kind, *shape, source, target, FAMILIES[family], seed, chosen)
        if case.why_not() is None:
            yield case


def _graded() -> Iterator[Graded]:
    yield from _values()
    yield from _scales()
    yield from _memory()
    yield from _sizes()
    yield from _weights()


def _at(level: int, cases: Iterable[QuantCase]) -> Iterator[Graded]:
    return ((level, case) for case in cases)


def _values() -> Iterator[Graded]:
    """Every family in every dtype of x, with scales of either kind."""
    plain = [name for name in FAMILIES if name != "one-special"]
    either: tuple[tuple[str, ...], ...] = ((), ("ue8m0",))
    for i, source in enumerate(("bf16", "fp16", "fp32")):
        shape = ROWS_AND_K[0] if i else ROWS_AND_K[2]
        yield from _at(QUICK, fill("token-group128", shape, plain, source=source, options=either))
        yield from _at(STANDARD, fill("token-group128", (83, 640), plain, source=source, seeds=(0, 1), options=either))
        level = STANDARD if i else QUICK
        specials = fill("token-group128", (5, 384), ("one-special",), source=source, seeds=range(6), options=either)
        yield from _at(level, specials)
        yield from _at(
            STANDARD, fill("token-group128", (5, 384), ("one-special",), source=source, seeds=range(SPECIALS))
        )
        for target in ("e5m2", "e4m3fnuz", "e5m2fnuz"):
            ready = target == "e5m2" and source == "bf16"
            yield from _at(
                STANDARD if ready else FULL,
                fill("token-group128", (5, 384), FAMILIES, source=source, target=target, options=either),
            )
    yield from _at(QUICK, fill("token-group128", UPSTREAM, ("ties", "normal")))
    yield from _at(STANDARD, fill("token-group128", UPSTREAM, plain, options=either))


def _scales() -> Iterator[Graded]:
    """Every layout and kind of scales, for rows that are multiples of 4 and not."""
    for shape in ROWS_AND_K:
        level = QUICK if shape in ROWS_AND_K[:2] else STANDARD
        yield from _at(level, fill("token-group128", shape, ("group-tags",), options=SCALES))
        yield from _at(FULL, fill("token-group128", shape, FAMILIES, seeds=(0, 1), options=((), *SCALES)))
    yield from _at(STANDARD, fill("token-group128", UPSTREAM, ("group-tags",), options=SCALES))


def _memory() -> Iterator[Graded]:
    """Every way to hand x over."""
    for shape in ((5, 384), (6, 640), (4, 128), (83, 1024)):
        level = QUICK if shape == (6, 640) else STANDARD
        options = tuple((name,) for name in INPUTS)
        yield from _at(level, fill("token-group128", shape, ("group-tags",), options=options))
        yield from _at(FULL, fill("token-group128", shape, ("codes", "normal"), source="fp32", options=options))
    yield from _at(STANDARD, fill("token-group128", (130, 256), ("normal",), options=(("x-3d", "twice"),)))


def _sizes() -> Iterator[Graded]:
    """No rows, ragged K, other group sizes, many rows."""
    families = ("group-tags", "codes")
    for shape in RAGGED:
        yield from _at(
            QUICK if shape == RAGGED[0] else STANDARD,
            fill("token-group128", shape, families, options=((), ("column-major",), ("ue8m0",))),
        )
    yield from _at(QUICK, fill("token-group128", (0, 384), families, options=((), ("column-major",))))
    for group in (64, 32, 512):
        level = QUICK if group == 64 else STANDARD
        yield from _at(level, fill(f"token-group{group}", (5, 1024), families, options=((), ("tma-aligned",))))
    for shape in ((4097, 128), (8192, 256), (65537, 128), (3, 18432)):
        yield from _at(STANDARD if shape[0] != 65537 else FULL, fill("token-group128", shape, families))


def _weights() -> Iterator[Graded]:
    """Blocks, whole and ragged on either axis."""
    for shape in WEIGHTS:
        level = QUICK if shape == WEIGHTS[0] else STANDARD
        families = [name for name in FAMILIES if name != "one-special" or shape == (144, 400)]
        yield from _at(level, fill("block128x128", shape, families, options=((), ("ue8m0",))))
    yield from _at(STANDARD, fill("block128x128", (576, 7168), ("normal", "group-tags"), options=((), ("ue8m0",))))
    yield from _at(
        STANDARD, fill("block128x128", (272, 384), ("group-tags",), options=(("x-rows-padded",), ("twice",)))
    )
    yield from _at(STANDARD, fill("block64x32", (144, 400), ("group-tags",)))
