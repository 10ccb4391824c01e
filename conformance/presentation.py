"""How operands are handed over: each in a buffer of ours, between guard bands with known contents.

A kernel that reads past an operand reads the same bytes in every run, so that its wrong answer can be repeated and
explained; one that writes there, or into an operand, is found out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from cases.operands import Operands
from cases.stream import Stream

GUARD = 4096
"""Bytes before an operand, and the least behind it."""


@dataclass(frozen=True)
class Banded:
    """One operand inside its buffer: ``view`` is what the kernel sees, ``pristine`` what the buffer held before."""

    name: str
    view: Tensor
    buffer: Tensor
    pristine: Tensor
    payload: slice

    def damage(self) -> str | None:
        """What the kernel changed, as a sentence, or None."""
        changed = self.buffer != self.pristine
        inside = int(changed[self.payload].sum())
        outside = int(changed.sum()) - inside
        if inside:
            return f"{inside} bytes of {self.name} were overwritten"
        return f"{outside} bytes around {self.name} were overwritten" if outside else None


@dataclass(frozen=True)
class Presented:
    """The four operands as the kernel gets them."""

    bands: tuple[Banded, Banded, Banded, Banded]
    out: Tensor | None = None

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """A, B, As and Bs, in buffers."""
        a, b, sa, sb = (band.view for band in self.bands)
        return a, b, sa, sb

    def damage(self) -> str | None:
        """The first change to an operand or a guard band, as a sentence, or None."""
        return next((found for band in self.bands if (found := band.damage())), None)

    def owner_of(self, result: Tensor) -> str | None:
        """The operand in whose buffer ``result`` lies, or None."""
        place = result.untyped_storage().data_ptr()
        return next((band.name for band in self.bands if band.buffer.untyped_storage().data_ptr() == place), None)


def present(operands: Operands, layout: str = "") -> Presented:
    """Lay ``operands`` out as upstream hands them over: A, B and Bs row-major, As column-major, 256-byte aligned."""
    a, b, sa, sb = operands.tensors
    return Presented(
        (
            _band("A", a),
            _band("B", b),
            _band("As", sa, column_major=True),
            # cuBLASLt pads the K blocks of B scales to 4: an unpadded operand is read up to 3 floats a row too far.
            _band("Bs", sb, behind=16 * sb.shape[0]),
        )
    )


def _band(name: str, operand: Tensor, *, behind: int = 0, column_major: bool = False) -> Banded:
    stored = operand.t().contiguous() if column_major else operand
    size = stored.numel() * stored.element_size()
    rear = -(-max(GUARD, behind) // GUARD) * GUARD + -size % 256
    buffer = torch.empty(GUARD + size + rear, dtype=torch.uint8, device=operand.device)
    payload = slice(GUARD, GUARD + size)
    buffer[:GUARD] = _guard(name, GUARD, operand.dtype, operand.device)
    buffer[payload] = stored.reshape(-1).view(torch.uint8)
    buffer[payload.stop :] = _guard(name, rear, operand.dtype, operand.device)
    view = buffer[payload].view(operand.dtype).reshape(stored.shape)
    return Banded(name, view.t() if column_major else view, buffer, buffer.clone(), payload)


@lru_cache(maxsize=64)
def _guard(name: str, size: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Plausible but loud contents: distinct scales around 1000 beside float32, large finite codes beside FP8."""
    stream = Stream(f"guard/{name}", device)
    if dtype == torch.float32:
        return stream.floats(10, 12, -(-size // 4)).view(torch.uint8)[:size]
    return (stream.octets(size) & 0x87) | 0x68
