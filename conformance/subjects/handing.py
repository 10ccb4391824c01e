"""How tensors are handed to a subject: each in a buffer of ours, x as the options of a case say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from conformance.bands import band
from conformance.layouts import ROW_PADDING, Lie
from conformance.presentation import Handed

if TYPE_CHECKING:
    from torch import Tensor

LIES: Mapping[str, Lie] = {
    "x-rows-padded": Lie(padding=ROW_PADDING, fill="nan"),
    "x-offset": Lie(offset=1, fill="nan"),
    "x-column-major": Lie(column_major=True, fill="nan"),
}
"""Options that lay x out in another way than row by row."""


def hand_over(tensors: Mapping[str, Tensor], options: tuple[str, ...]) -> Handed:
    """Matrices by name, the one called x laid out as ``options`` say."""
    of_x = next((LIES[name] for name in options if name in LIES), Lie())
    return Handed(tuple(band(name, one, of_x if name == "x" else Lie()) for name, one in tensors.items()))


def shaped(x: Tensor, options: tuple[str, ...]) -> Tensor:
    """``x`` [rows, K], or [2, rows / 2, K] where ``options`` ask for three dimensions."""
    return x.view(2, x.shape[0] // 2, x.shape[1]) if "x-3d" in options else x
