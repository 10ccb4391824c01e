"""What a relation makes of operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from cases.fill.values import Values

MARGIN = 80
"""Powers of two beyond which partial sums may leave the normal range of a float32, and scaling is no longer exact."""


def _as_it_is(out: Tensor) -> Tensor:
    return out


@dataclass(frozen=True)
class Related:
    """Operands whose result follows from that of others.

    ``parts`` are the operands of one related call, or of several whose results add up. ``back`` reorders or negates a
    related result into what the first one has to be; ``gain`` are the powers of two, float64 [M, 1] or [1, N], that
    the relation multiplies results by. ``first`` are the operands to compare with where they are not the case's own.
    """

    parts: tuple[Values, ...]
    back: Callable[[Tensor], Tensor] = _as_it_is
    gain: Tensor | None = None
    first: Values | None = None

    def mapped(self, out: Tensor) -> Tensor:
        """A related result as the first one has to be, in float64, which holds every output dtype exactly."""
        plain = self.back(out).double()
        return plain if self.gain is None else plain / self.gain

    def comparable(self, first: Tensor) -> Tensor:
        """Mask of the elements of ``first`` whose every bit the relation keeps.

        Multiplying by 2^e is exact while neither result is subnormal, zero by underflow, or overflows.
        """
        if self.gain is None:
            return torch.ones_like(first, dtype=torch.bool)
        info = torch.finfo(first.dtype)
        low, high = max(info.smallest_normal, 2.0**-MARGIN), min(info.max, 2.0**MARGIN)
        before = first.double().abs()
        after = before * self.gain
        return (torch.minimum(before, after) > low) & (torch.maximum(before, after) <= high)
