"""Which fault of the catalogue, or which other arithmetic, gives exactly the elements that came."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from cases import Problem
from conformance.diagnosis.reading import Memory, Reading, honest
from conformance.diagnosis.suspects import Suspect, suspects
from conformance.diagnosis.variants import candidates
from conformance.presentation import Presented
from reference import SM90, Arithmetic, round_to
from reference.emulate import emulate_plans
from reference.splitk import plans, same_bits

SAMPLE_ROWS, SAMPLE_COLUMNS = 12, 48


@dataclass(frozen=True)
class Naming:
    """A fault or arithmetic that gives ``explained`` of the ``wrong`` elements, bit for bit or within its bound."""

    says: str
    name: str
    explained: int
    wrong: int
    bitwise: bool
    arithmetic: str
    plan: int | None = None

    def sentence(self) -> str:
        """The finding in one sentence."""
        who = (
            f"all {self.wrong} wrong elements"
            if self.explained == self.wrong
            else (f"{self.explained} of {self.wrong} wrong elements")
        )
        how = f"in the arithmetic {self.arithmetic}, bit for bit" if self.bitwise else "within its error bound"
        return f"{who} equal the result of {self.says}, {how}"


def name_fault(
    presented: Presented, problem: Problem, out: Tensor, wrong: Tensor, arithmetic: Arithmetic | None
) -> Naming | None:
    """The catalogue's explanation of the ``wrong`` elements (mask [M, N]) of ``out``, or None: unexplained.

    Faults are tried on a sample of the wrong elements first, bit for bit under ``arithmetic`` (SM90 unless declared
    otherwise) and every split of K, then within the bound of any arithmetic; what fits the sample is checked in full.
    """
    if not wrong.any():
        return None
    right = honest(presented, problem)
    memory = Memory.of(presented, problem)
    recipe = problem.recipe
    specimen = Specimen.of(out, wrong)
    found = list(suspects(right, memory))
    comparisons = _Bitwise(arithmetic or SM90, recipe), _WithinBound(arithmetic, right.at(specimen.rows, specimen.cols))
    for comparison in comparisons:
        for suspect in found:
            if specimen.fits(suspect.reading, comparison):
                return comparison.confirm(suspect, out, wrong)
    return None


@dataclass(frozen=True)
class Specimen:
    """A few rows and columns of a result in which wrong elements lie."""

    out: Tensor
    wrong: Tensor
    rows: Tensor
    cols: Tensor

    @classmethod
    def of(cls, out: Tensor, wrong: Tensor) -> Specimen:
        """The specimen with the most wrong columns and, of those, the most wrong rows."""
        cols = wrong.sum(0).argsort(descending=True, stable=True)[:SAMPLE_COLUMNS]
        rows = wrong[:, cols].sum(1).argsort(descending=True, stable=True)[:SAMPLE_ROWS]
        return cls(out[rows][:, cols], wrong[rows][:, cols], rows, cols)

    def fits(self, reading: Reading, comparison: _Comparison) -> bool:
        """Whether ``reading`` gives every wrong element of the specimen under ``comparison``, and most of the others.

        A few elements that are off by a little fit many a fault; one that would change the others is not theirs.
        """
        there = reading.at(self.rows, self.cols)
        matches = comparison.matches(there, self.out)
        fit = any(bool(match[self.wrong].all()) and _mostly(match[~self.wrong]) for _, match in matches)
        return fit and comparison.tells(there, self)


def _mostly(match: Tensor) -> bool:
    return not match.numel() or float(match.double().mean()) >= 0.5


class _Comparison:
    def matches(self, reading: Reading, out: Tensor) -> Iterator[tuple[int | None, Tensor]]:
        raise NotImplementedError

    def confirm(self, suspect: Suspect, out: Tensor, wrong: Tensor) -> Naming:
        raise NotImplementedError

    def tells(self, reading: Reading, specimen: Specimen) -> bool:
        """Whether ``reading`` could not as well be the right one; equal bits where the right differ always tell."""
        return True

    def best(self, suspect: Suspect, out: Tensor, wrong: Tensor) -> tuple[int | None, int]:
        """The plan under which the full reading gives the most wrong elements, and how many."""
        counts = [(plan, int(match[wrong].sum())) for plan, match in self.matches(suspect.reading, out)]
        return max(counts, key=lambda pair: pair[1])


@dataclass(frozen=True)
class _Bitwise(_Comparison):
    arithmetic: Arithmetic
    recipe: str

    def matches(self, reading: Reading, out: Tensor) -> Iterator[tuple[int | None, Tensor]]:
        tried = plans(reading.sa.shape[0], self.recipe)
        matches = [torch.empty(out.shape, dtype=torch.bool, device=out.device) for _ in tried]
        for tile, results in emulate_plans(
            reading.A,
            reading.B,
            reading.sa,
            reading.sb,
            tried,
            recipe=self.recipe,
            arithmetic=self.arithmetic,
            chosen=reading.chunks,
        ):
            part = tile.rows, tile.cols
            for match, result in zip(matches, results, strict=True):
                match[part] = same_bits(reading.store(result, out.dtype), out[part])
        yield from zip(tried, matches, strict=True)

    def confirm(self, suspect: Suspect, out: Tensor, wrong: Tensor) -> Naming:
        plan, explained = self.best(suspect, out, wrong)
        total = int(wrong.sum())
        return Naming(suspect.says, suspect.name, explained, total, True, self.arithmetic.name, plan)


@dataclass(frozen=True)
class _WithinBound(_Comparison):
    arithmetic: Arithmetic | None
    right: Reading
    """The right reading of the specimen."""

    def tells(self, reading: Reading, specimen: Specimen) -> bool:
        """A reading whose bound holds the right values as well (it is endless where scales are) tells nothing."""
        right = round_to(self.right.expected(self.arithmetic).exact, specimen.out.dtype)
        return not any(_mostly(match[specimen.wrong]) for _, match in self.matches(reading, right))

    def matches(self, reading: Reading, out: Tensor) -> Iterator[tuple[int | None, Tensor]]:
        if reading.chunks is not None:
            return
        expectation = reading.expected(self.arithmetic)
        ends = (expectation.exact + side * expectation.error for side in (-1, 1))
        low, high = (reading.store(end.float(), out.dtype).double() for end in ends)
        value = out.double()
        yield None, (value >= torch.minimum(low, high)) & (value <= torch.maximum(low, high))

    def confirm(self, suspect: Suspect, out: Tensor, wrong: Tensor) -> Naming:
        _, explained = self.best(suspect, out, wrong)
        name = self.arithmetic.name if self.arithmetic else "any"
        return Naming(suspect.says, suspect.name, explained, int(wrong.sum()), False, name)


def name_arithmetic(reading: Reading, out: Tensor, recipe: str, expected: Arithmetic = SM90) -> Naming | None:
    """The arithmetic that gives every bit of ``out`` for the right reading, or None.

    Tried are ``expected``, the published ones and every single change of a parameter, on a sample first.
    """
    everything = torch.ones(out.shape, dtype=torch.bool, device=out.device)
    specimen = Specimen.of(out, everything)
    for arithmetic in candidates(expected, recipe, reading.A.shape[1]):
        comparison = _Bitwise(arithmetic, recipe)
        if specimen.fits(reading, comparison):
            suspect = Suspect("arithmetic", f"the right operands in the arithmetic {arithmetic.name}", reading)
            named = comparison.confirm(suspect, out, everything)
            if named.explained == named.wrong:
                return named
    return None
