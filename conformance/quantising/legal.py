"""What is right of a quantiser, derived from the definition in exact arithmetic and from nothing else.

A scale is max(amax, eps) / limit in float32: correctly rounded (``division``), or amax times the rounded 1 / limit
(``reciprocal``), or a quotient of GPUs' fast division, two units off at most (`APPROXIMATE`). A power of two is the
next one that is not below the exact quotient; the one before it, too, where the quotient exceeds that by less than
`HAIR`, which a logarithm in float32 does not see.

A code is x / scale, under the scale that came, rounded to nearest even and saturating. Where the scale is a power of
two the quotient is exact, so one code is right. Elsewhere it may be off by `SLACK` on its way, so that two are right of
a quotient that lies as near to the middle between them, and one of any other.

An element that is not finite has to come back not finite: by its scale, or by its code. Where the scale is finite, it
is that of the other elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from cases import QuantCase
from cases.quantising.groups import Groups
from conformance.measure import ordered
from reference.dot import power_of_two
from reference.formats import FORMATS, Format

EPS = torch.tensor(1e-10, dtype=torch.float32).double()
"""The least amax, as float32 holds it."""
LEAST_POWER = -33
"""Exponent of the least scale that is a power of two: 1e-10, rounded up."""
APPROXIMATE = 2
"""Units in the last place by which CUDA's ``div.full.f32`` may be off (PTX ISA, "div")."""
SLACK = 2.0**-22 + 2.0**-40
"""Those two units, relative; two roundings of a product with the reciprocal come to less."""
HAIR = 2.0**-16
"""What an error of one unit in a logarithm of up to 149 in float32 comes to, relative to its argument."""
VARIANTS = ("division", "reciprocal")
"""What a quantiser may declare as its arithmetic."""


@dataclass(frozen=True)
class Legal:
    """What is right for ``x`` [rows, columns] under ``case``."""

    case: QuantCase
    x: Tensor

    @property
    def kind(self) -> Format:
        """The format that is quantised to."""
        return FORMATS[self.case.target]

    @cached_property
    def groups(self) -> Groups:
        """Which elements share a scale."""
        return Groups(self.case.granularity, self.x.shape[0], self.x.shape[1], self.x.device)

    @cached_property
    def exact(self) -> Tensor:
        """The input in float64, zeros where it is not finite."""
        wide = self.x.double()
        return torch.where(wide.isfinite(), wide, 0.0)

    @cached_property
    def poisoned(self) -> Tensor:
        """Mask [groups, groups] of those with an element that is not finite."""
        return self.groups.amax((~self.x.isfinite()).double()) > 0

    @cached_property
    def amax(self) -> Tensor:
        """The largest finite magnitude of each group, eps at least, float64."""
        return self.groups.amax(self.exact.abs()).clamp(min=EPS.to(self.x.device))

    def scales(self, variant: str) -> Tensor:
        """The scales of a ``variant``, float32."""
        limit = self.kind.quant_max
        if variant == "reciprocal":
            # Two float32 multiply to 48 bits, which float64 holds.
            quotient = (self.amax * float(torch.tensor(1 / limit, dtype=torch.float32))).float()
        else:
            # A quotient rounded to 53 bits and then to 24 is that rounded at once (Figueroa, 1995).
            quotient = (self.amax / limit).float()
        return power_of_two(self._exponents()) if self._is_power else quotient

    @property
    def _is_power(self) -> bool:
        return "ue8m0" in self.case.options

    def _exponents(self) -> Tensor:
        """ceil(log2(exact quotient)), exact: no amax but 7 * 2^j over a limit of 7 * 2^i comes near a power of two."""
        mantissa, exponent = torch.frexp(self.amax / self.kind.quant_max)
        return (exponent - (mantissa == 0.5).int()).clamp(min=LEAST_POWER)

    def wrong_scales(self, scales: Tensor) -> Tensor:
        """Mask of the ``scales`` [groups, groups], float32, that no legal quantiser gives."""
        right = self.scales("division")
        if self._is_power:
            below = right.double() / 2
            by_a_hair = (scales == below) & (self.amax / self.kind.quant_max <= below * (1 + HAIR))
            fine = (scales == right) | (by_a_hair & (scales >= 2.0**LEAST_POWER))
        else:
            fine = (scales == self.scales("reciprocal")) | ((ordered(scales) - ordered(right)).abs() <= APPROXIMATE)
        fine &= scales.isfinite()
        return ~(fine | (self.poisoned & ~scales.isfinite()))

    def lost(self, codes: Tensor, scales: Tensor) -> Tensor:
        """Mask [rows, columns] of the elements that are not finite and come back, as values ``codes``, as numbers."""
        return ~self.x.isfinite() & codes.isfinite() & self.groups.spread(scales).isfinite()

    def wrong_codes(self, codes: Tensor, scales: Tensor) -> Tensor:
        """Mask [rows, columns] of the values ``codes`` that are not right under ``scales``; what `lost` asks is not."""
        low, high = self._between(scales)
        of_numbers = self.x.isfinite() & self.groups.spread(scales).isfinite()
        return of_numbers & ~((codes >= low) & (codes <= high))

    def _between(self, scales: Tensor) -> tuple[Tensor, Tensor]:
        mantissa, _ = torch.frexp(scales)
        slack = self.groups.spread(torch.where(mantissa == 0.5, 0.0, SLACK).double())
        quotient = self._quotient(scales)
        ends = self.rounded(quotient * (1 - slack)), self.rounded(quotient * (1 + slack))
        return torch.minimum(*ends), torch.maximum(*ends)

    def _quotient(self, scales: Tensor) -> Tensor:
        usable = torch.where(scales.isfinite() & (scales > 0), scales, 1.0)
        return self.exact / self.groups.spread(usable).double()

    def codes(self, scales: Tensor, variant: str | None = None) -> Tensor:
        """The values of the codes under ``scales``: by a ``variant`` in float32, or of the exact quotient."""
        quotient = self._quotient(scales)
        if variant == "reciprocal":
            inverse = (1 / torch.where(scales.isfinite() & (scales > 0), scales, 1.0).double()).float().double()
            quotient = self.exact * self.groups.spread(inverse)
        return self.rounded(quotient.float().double() if variant else quotient)

    def rounded(self, values: Tensor) -> Tensor:
        """``values``, float64, to the nearest value of the format, ties to the even code, saturating; float32."""
        table = self.kind.values[:128].double().to(values.device)
        table = table[table <= self.kind.quant_max]
        middles = (table[1:] + table[:-1]) / 2
        magnitudes = values.abs().contiguous()
        below = torch.searchsorted(middles, magnitudes)
        tie = magnitudes == middles[below.clamp(max=len(middles) - 1)]
        code = below + (tie & (below % 2 == 1)).long()
        return torch.copysign(table[code], values).float()
