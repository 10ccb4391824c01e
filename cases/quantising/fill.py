"""From a case for a quantiser to its input: the same bytes on every device and version of torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from cases.fill.tags import tags
from cases.operands import digest_of
from cases.problem import OUT_DTYPES
from cases.quantising.case import QuantCase
from cases.quantising.groups import Groups
from cases.quantising.places import special_of
from cases.stream import Stream
from reference.dot import power_of_two
from reference.formats import FORMATS, Format

POWERS_OF_TWO = ("ties", "near-ties", "codes")
"""Families in which the largest element of every group is the largest code times a power of two."""
JUST = {"bf16": 2.0**-7, "fp16": 2.0**-10, "fp32": 2.0**-12}
"""How far from a power of two `scale-edges` goes: as near as the dtype can, and no nearer than logarithms can tell."""


@dataclass(frozen=True)
class Input:
    """x [rows, columns], contiguous, and the digest of its bytes."""

    x: Tensor
    digest: str


@dataclass(frozen=True)
class Canvas:
    """A case with the stream that its input is drawn from."""

    case: QuantCase
    stream: Stream

    @cached_property
    def groups(self) -> Groups:
        """Which elements share a scale."""
        return Groups(self.case.granularity, self.case.rows, self.case.columns, self.stream.device)

    @property
    def kind(self) -> Format:
        """The format that is quantised to."""
        return FORMATS[self.case.target]

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of x."""
        dtype: torch.dtype = getattr(torch, OUT_DTYPES[self.case.source])
        return dtype

    @cached_property
    def powers(self) -> Tensor:
        """A power of two a group, other than those of its neighbours, under which all codes and ties fit x."""
        narrow = self.case.source == "fp16" and self.kind.quant_max > 1 << 10
        exponents = tags(self.stream.child("tags"), *self.groups.shape, limit=6 if narrow else 12) - 7
        return power_of_two(exponents)

    def element(self, name: str, limit: int) -> Tensor:
        """An integer below ``limit`` for every element."""
        return self.stream.child(name).below(limit, self.case.rows, self.case.columns)

    def signed(self, name: str, magnitudes: Tensor) -> Tensor:
        """``magnitudes`` with signs, of zeros too."""
        negative = self.stream.child(f"{name}/sign").below(2, *magnitudes.shape) == 1
        return torch.where(negative, -magnitudes, magnitudes)

    def normal(self, largest: Tensor) -> Tensor:
        """Normal values of 24 bits, none above half of the ``largest`` [groups, groups] of its group."""
        size = self.case.rows, self.case.columns
        values = self.stream.child("values").normal(*size) * self.stream.child("bits").floats(0, 1, *size)
        return values * 2.0**-4 * self.groups.spread(largest)

    def topped(self, values: Tensor, largest: Tensor) -> Tensor:
        """``values`` with one element a group that is the ``largest``, of either sign."""
        values[self.groups.places(self.stream.child("places"))] = self.signed("largest", largest)
        return values

    def codes(self) -> Tensor:
        """The finite magnitudes of the format up to the one that quantisers scale to, in order, from zero."""
        values = self.kind.values[:128].to(self.stream.device)
        return values[values <= self.kind.quant_max]


def build_input(case: QuantCase, *, seed: int = 0, device: torch.device | str = "cpu") -> Input:
    """The input of ``case`` under suite ``seed``. Raises AssertionError where it is not what the family is about."""
    canvas = Canvas(case, Stream(f"{case.inputs}/{seed}", torch.device(device)))
    x = FILLS[case.family.name](canvas).to(canvas.dtype)
    if case.family.name in POWERS_OF_TWO:
        largest = canvas.groups.amax(x.double().abs())
        assert torch.equal(largest, canvas.powers.double() * canvas.kind.quant_max), f"{case.id} has other scales"
    return Input(x, digest_of(x))


def _ties(canvas: Canvas) -> Tensor:
    codes = canvas.codes()
    halfway = (codes[1:] + codes[:-1]) / 2
    values = canvas.signed("values", halfway[canvas.element("codes", len(halfway))])
    return canvas.topped(values * canvas.groups.spread(canvas.powers), canvas.powers * canvas.kind.quant_max)


def _near_ties(canvas: Canvas) -> Tensor:
    x = _ties(canvas).to(canvas.dtype)
    whole = torch.int32 if x.dtype == torch.float32 else torch.int16
    # The next magnitude above or below, since the bits of floats are in the order of their magnitudes.
    beside = (x.view(whole) + (2 * canvas.element("beside", 2) - 1).to(whole)).view(x.dtype)
    return canvas.topped(beside.float(), canvas.powers * canvas.kind.quant_max)


def _codes(canvas: Canvas) -> Tensor:
    codes = canvas.codes()
    values = canvas.signed("values", codes[canvas.element("codes", len(codes))])
    return canvas.topped(values * canvas.groups.spread(canvas.powers), canvas.powers * canvas.kind.quant_max)


def _largest(canvas: Canvas) -> Tensor:
    """Magnitudes with all bits of x, other than those of their neighbours by far."""
    return canvas.stream.child("amax").floats(0, 1, *canvas.groups.shape) * canvas.powers


def _group_tags(canvas: Canvas) -> Tensor:
    return canvas.topped(canvas.normal(_largest(canvas)), _largest(canvas))


def _normal(canvas: Canvas) -> Tensor:
    return canvas.normal(torch.ones(canvas.groups.shape, device=canvas.stream.device))


def _scale_edges(canvas: Canvas) -> Tensor:
    just = JUST[canvas.case.source]
    factors = torch.tensor([1.0, 1 + just, 1 - just, 0.625], device=canvas.stream.device)
    # Not above the largest power: float16 ends just behind the largest code of e5m2.
    powers = canvas.powers / 2
    drawn = canvas.stream.child("edges").below(len(factors), *canvas.groups.shape)
    largest = factors[drawn] * powers * canvas.kind.quant_max
    return canvas.topped(canvas.normal(largest), largest)


def _zeros(canvas: Canvas) -> Tensor:
    x = _group_tags(canvas)
    zero = canvas.stream.child("zeros").below(2, *canvas.groups.shape) == 0
    zero[:1, :1] = True
    return torch.where(canvas.groups.spread(zero), canvas.signed("zeros", torch.zeros_like(x)), x)


def _small(canvas: Canvas) -> Tensor:
    size = canvas.groups.shape
    largest = canvas.stream.child("amax").floats(-40, -22, *size)
    subnormal = canvas.stream.child("subnormal").below(4, *size) == 0
    largest = torch.where(subnormal, largest * 2.0**-90, largest)
    return canvas.topped(canvas.normal(largest), largest)


def _large(canvas: Canvas) -> Tensor:
    ends = torch.tensor([1.0, 0.75, 2.0**-10], device=canvas.stream.device) * torch.finfo(canvas.dtype).max
    largest = ends[canvas.stream.child("ends").below(len(ends), *canvas.groups.shape)]
    return canvas.topped(canvas.normal(largest), largest)


def _one_special(canvas: Canvas) -> Tensor:
    x = _group_tags(canvas)
    if x.numel():
        planted = special_of(canvas.case)
        x[planted.row, planted.column] = planted.value
    return x


FILLS: dict[str, Callable[[Canvas], Tensor]] = {
    "ties": _ties,
    "near-ties": _near_ties,
    "codes": _codes,
    "group-tags": _group_tags,
    "normal": _normal,
    "scale-edges": _scale_edges,
    "zeros": _zeros,
    "small": _small,
    "large": _large,
    "one-special": _one_special,
}
