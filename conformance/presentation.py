"""How operands are handed over: each in a buffer of ours, between guard bands with known contents.

A kernel that reads past an operand reads the same bytes in every run, so that its wrong answer can be repeated and
explained; one that writes there, or into an operand, is found out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cases.operands import Operands
from conformance.bands import Banded, band, target
from conformance.layouts import LAYOUTS, Layout


@dataclass(frozen=True)
class Handed:
    """Tensors as a subject gets them, in buffers, and where its result has to go if it is told."""

    bands: tuple[Banded, ...]
    target: Banded | None = None

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """What the subject gets."""
        return tuple(one.view for one in self.bands)

    @property
    def out(self) -> Tensor | None:
        """What the kernel has to write into, full of NaN, or None."""
        return self.target.view if self.target else None

    def damage(self) -> str | None:
        """The first change to an operand or to memory around one, as a sentence, or None."""
        bands = (*self.bands, self.target) if self.target else self.bands
        if not _any_differs([one.compared() for one in bands]):
            return None
        return next((found for one in bands if (found := one.damage())), None)

    def owner_of(self, result: Tensor) -> str | None:
        """The operand in whose buffer ``result`` lies, or None."""
        place = result.untyped_storage().data_ptr()
        return next((one.name for one in self.bands if one.buffer.untyped_storage().data_ptr() == place), None)


@dataclass(frozen=True)
class Presented(Handed):
    """The four operands of a product as the kernel gets them."""

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """A, B, As and Bs, in buffers."""
        a, b, sa, sb = (one.view for one in self.bands)
        return a, b, sa, sb


def _any_differs(pairs: Sequence[tuple[Tensor, Tensor]]) -> bool:
    """Whether the two tensors of any pair differ; one transfer from the device."""
    if pairs[0][0].device.type == "cpu":
        return not all(torch.equal(*pair) for pair in pairs)
    return bool(torch.stack([(one != other).any() for one, other in pairs]).any())


def present(operands: Operands, layout: str | Layout = "", *, out_dtype: torch.dtype = torch.float32) -> Presented:
    """Lay ``operands`` out as ``layout`` says, by default as upstream hands them over.

    That is A, B and Bs row-major, As column-major, on 256 bytes (64 on CPUs). ``out_dtype`` matters to the layouts
    that give an `out`. Raises KeyError for an unknown layout.
    """
    how = layout if isinstance(layout, Layout) else LAYOUTS[layout]
    a, b, sa, sb = operands.tensors
    bands = (
        band("A", a, how.A),
        band("B", b, how.B),
        band("As", sa, how.As),
        # cuBLASLt pads the K blocks of B scales to 4: an unpadded operand is read up to 3 floats a row too far.
        band("Bs", sb, how.Bs, behind=16 * sb.shape[0]),
    )
    return Presented(bands, target(a.shape[0], b.shape[0], out_dtype, a.device, how.out) if how.out else None)
