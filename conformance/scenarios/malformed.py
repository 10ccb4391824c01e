"""Operands that contradict each other, or whose dtype nobody defined.

Where ``meaningless`` scenarios leave nothing to multiply, the others have one sense: the same numbers as before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from cases.operands import Operands
from reference.blocks import BLOCK

LANES = 16
"""By how many lanes K differs: every code keeps its 16-byte boundary."""


def _unequal_k(given: Operands) -> Operands:
    return replace(
        given, B=torch.cat([given.B.view(torch.uint8), given.B[:, :LANES].view(torch.uint8)], 1).view(given.B.dtype)
    )


def _per_column(given: Operands) -> Operands:
    index = torch.arange(given.B.shape[0], device=given.B.device) // BLOCK
    return replace(given, Bs=given.Bs[index])


def _scales_as(dtype: torch.dtype) -> Callable[[Operands], Operands]:
    return lambda given: replace(given, As=given.As.to(dtype), Bs=given.Bs.to(dtype))


MALFORMED: dict[str, Callable[[Operands], Operands]] = {
    "unequal-k": _unequal_k,
    "as-short": lambda given: replace(given, As=given.As[:, :-1].contiguous()),
    "bs-short": lambda given: replace(given, Bs=given.Bs[:-1].contiguous()),
    "as-transposed": lambda given: replace(given, As=given.As.t().contiguous()),
    "bs-per-column": _per_column,
    "scales-int32": _scales_as(torch.int32),
    "scales-float64": _scales_as(torch.float64),
    "codes-as-bytes": lambda given: replace(given, A=given.A.view(torch.uint8), B=given.B.view(torch.uint8)),
}
"""How each malformed scenario of `cases.scenarios` spoils well-formed operands."""
