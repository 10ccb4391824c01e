"""A matrix in a buffer of ours: between guard bands, and found out where it or they change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from conformance.filling import filling
from conformance.layouts import Fill, Lie

GUARD = 4096
"""Bytes before an operand, and the least behind it."""
UNWRITTEN = 0xFF
"""Every byte of a given `out` and around it: NaN in any format, and not the NaN that arithmetic makes."""


@dataclass(frozen=True)
class Banded:
    """One matrix inside its buffer: ``view`` is what the kernel sees, ``pristine`` what the buffer held before.

    ``payload`` are the bytes from its first element to the end of its last line. The elements of a ``writable`` one
    are the kernel's to change.
    """

    name: str
    view: Tensor
    buffer: Tensor
    pristine: Tensor
    payload: slice
    lie: Lie
    writable: bool = False

    def compared(self) -> tuple[Tensor, Tensor]:
        """Buffer and original contents as words: they are equal unless something changed that must not."""
        if self.writable:
            self._matrix_in(self.pristine).copy_(self._matrix_in(self.buffer))
        return self.buffer.view(torch.int64), self.pristine.view(torch.int64)

    def damage(self) -> str | None:
        """What the kernel changed, as a sentence, or None."""
        self.compared()
        changed = self.buffer != self.pristine
        parted = "elements" if self.lie.step > 1 else "columns" if self.lie.column_major else "rows"
        # From the inside out: where one of these counts, nothing changed in what it holds of the places before it.
        places = {
            "of": self._matrix_in(changed),
            f"between the {parted} of": changed[self.payload],
            "around": changed,
        }
        counts = ((int(mask.sum()), where) for where, mask in places.items())
        return next((f"{n} bytes {where} {self.name} were overwritten" for n, where in counts if n), None)

    def _matrix_in(self, octets: Tensor) -> Tensor:
        """The bytes of the matrix inside a buffer like this one, [rows, columns, bytes]; the one row of an expanded."""
        size, strides = self.view.element_size(), self.view.stride()
        rows = min(self.view.shape[0], 1) if self.lie.expanded else self.view.shape[0]
        shape = (rows, self.view.shape[1], size)
        return torch.as_strided(octets, shape, (strides[0] * size, strides[1] * size, 1), self.payload.start)


def octets(x: Tensor) -> Tensor:
    """The bytes of ``x`` in its logical order, whatever its strides: a view where it is contiguous."""
    return x.contiguous().view(-1).view(torch.uint8)


def band(name: str, operand: Tensor, lie: Lie, *, behind: int = 0) -> Banded:
    """``operand``, which is contiguous, in a buffer of its own, with ``behind`` bytes behind it at least."""
    about = name, lie.fill, operand.dtype, operand.device
    payload, rear = _places(lie, operand, behind)
    if lie.is_dense:
        raw = operand.view(torch.uint8) if operand.element_size() == 1 else operand
        stored = raw.t() if lie.column_major else raw[:1] if lie.expanded else raw
        body = octets(stored)
    else:
        body = filling(name, lie.fill, payload.stop - payload.start, operand.dtype, operand.device)
    buffer = torch.cat((_guard(*about, payload.start), body, _guard(*about, rear)))
    view = _view(buffer, operand, lie)
    if not lie.is_dense:
        view.copy_(operand)
    return Banded(name, view, buffer, buffer.clone(), payload, lie)


def target(rows: int, columns: int, dtype: torch.dtype, device: torch.device, lie: Lie) -> Banded:
    """An `out` that nothing has been written to."""
    like = torch.empty((rows, columns), dtype=dtype, device="meta")
    payload, rear = _places(lie, like, 0)
    buffer = torch.full((payload.stop + rear,), UNWRITTEN, dtype=torch.uint8, device=device)
    return Banded("out", _view(buffer, like, lie), buffer, buffer.clone(), payload, lie, writable=True)


def _places(lie: Lie, like: Tensor, behind: int) -> tuple[slice, int]:
    """The bytes from the first element of a matrix to the end of its last line, and how many follow them."""
    size = like.element_size()
    start = GUARD + lie.offset * size
    stop = start + lie.extent(*like.shape) * size
    return slice(start, stop), -(-max(GUARD, behind) // GUARD) * GUARD + -stop % 256


def _view(buffer: Tensor, like: Tensor, lie: Lie) -> Tensor:
    """The matrix that lies so in ``buffer``, of the shape and dtype of ``like``."""
    offset = GUARD // like.element_size() + lie.offset
    return torch.as_strided(buffer.view(like.dtype), like.shape, lie.strides(*like.shape), offset)


@lru_cache(maxsize=64)
def _guard_pages(name: str, fill: Fill, dtype: torch.dtype, device: torch.device, pages: int) -> Tensor:
    return filling(name, fill, pages * GUARD, dtype, device)


def _guard(name: str, fill: Fill, dtype: torch.dtype, device: torch.device, size: int) -> Tensor:
    return _guard_pages(name, fill, dtype, device, -(-size // GUARD))[:size]
