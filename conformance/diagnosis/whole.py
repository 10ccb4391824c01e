"""Single faults where one scale covers all of K, and which of them gives the elements that came.

No arithmetic is known of such sums, so that every reading is held to the bound of any right kernel alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from cases import Problem
from conformance.diagnosis.naming import Naming, Specimen
from conformance.diagnosis.reading import Reading, honest
from conformance.diagnosis.suspects import Suspect, formats, shifts, stores, with_scale, without
from conformance.presentation import Presented
from reference import expect

OTHERS = {"sa": "sb", "sb": "sa"}
NAMES = {"sa": "A", "sb": "B"}


def name_whole(presented: Presented, problem: Problem, out: Tensor, wrong: Tensor) -> Naming | None:
    """The fault that gives the ``wrong`` elements (mask [M, N]) of ``out``, or None: unexplained.

    A reading whose bound holds the right values too says nothing, and neither does one that would change most of the
    elements that are right.
    """
    right = honest(presented, problem)
    specimen = Specimen.of(out, wrong)
    seen = right.at(specimen.rows, specimen.cols)
    for suspect in _suspects(right):
        reading = suspect.reading.at(specimen.rows, specimen.cols)
        match = _within(reading, specimen.out)
        if match[specimen.wrong].all() and _tells(reading, seen, specimen) and _mostly(match[~specimen.wrong]):
            explained = int(_within(suspect.reading, out)[wrong].sum())
            return Naming(suspect.says, suspect.name, explained, int(wrong.sum()), False, "any")
    return None


def _within(reading: Reading, out: Tensor) -> Tensor:
    """Mask of the elements of ``out`` that a kernel which reads so may return."""
    scales = reading.sa.t(), reading.sb.t()
    expected = expect(reading.A, reading.B, *scales, recipe="rowwise", arithmetic=None)
    ends = [reading.store((expected.exact + side * expected.error).float(), out.dtype).double() for side in (-1, 1)]
    value = out.double()
    return (value >= torch.minimum(*ends)) & (value <= torch.maximum(*ends))


def _tells(reading: Reading, right: Reading, specimen: Specimen) -> bool:
    """Whether the right values are mostly none of the reading."""
    exact = expect(right.A, right.B, right.sa.t(), right.sb.t(), recipe="rowwise", arithmetic=None).exact
    match = _within(reading, right.store(exact.float(), specimen.out.dtype))
    return float(match[specimen.wrong].double().mean()) < 0.5


def _mostly(match: Tensor) -> bool:
    return not match.numel() or float(match.double().mean()) >= 0.5


def _suspects(right: Reading) -> Iterator[Suspect]:
    """The readings to try, the plainest first."""
    yield from _scales(right)
    yield from _lanes(right)
    yield from shifts(right)
    yield from formats(right)
    yield from stores(right)


def _scales(right: Reading) -> Iterator[Suspect]:
    """A scale left out, applied twice or upside down, that of another row, or of the other operand."""
    for side, name in NAMES.items():
        scale: Tensor = getattr(right, side)
        rows = torch.arange(scale.shape[1], device=scale.device)
        other: Tensor = getattr(right, OTHERS[side])
        lane = "row" if side == "sa" else "column"
        for says, changed in (
            (f"leaving out the {name} scales", torch.ones_like(scale)),
            (f"applying the {name} scales twice", scale * scale),
            (f"dividing by the {name} scales", 1 / scale),
            (f"ignoring the sign of the {name} scales", scale.abs()),
            (f"using the {name} scale of the first {lane} everywhere", scale[:, :1].expand_as(scale).contiguous()),
            (f"using the {name} scale of the next {lane}", scale[:, (rows + 1) % len(rows)]),
            (f"using the {name} scale of the previous {lane}", scale[:, rows - 1]),
            (f"using the {NAMES[OTHERS[side]]} scales in place of the {name} scales", other[:, rows % other.shape[1]]),
        ):
            yield Suspect(f"{name.lower()}-scale", says, with_scale(right, side, changed))
    none = torch.ones_like(right.sa), torch.ones_like(right.sb)
    yield Suspect("no-scales", "leaving out both scales", replace(right, sa=none[0], sb=none[1]))
    of_rows, of_columns = (torch.arange(x.shape[1], device=x.device) for x in (right.sa, right.sb))
    exchanged = replace(right, sa=right.sb[:, of_rows % len(of_columns)], sb=right.sa[:, of_columns % len(of_rows)])
    yield Suspect("scales-exchanged", "exchanging the scales of A and B", exchanged)


def _lanes(right: Reading) -> Iterator[Suspect]:
    """The end of K left out."""
    k = right.A.shape[1]
    for lanes in sorted({1, 16, 32, 64, 128, k % 32, k % 128} - {0}):
        if lanes < k:
            said = f"leaving out the last {lanes} of K" if lanes > 1 else "leaving out the last lane of K"
            yield Suspect("k-dropped", said, replace(right, A=without(right.A, k - lanes, k)))
