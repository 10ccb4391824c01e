"""The groups of a matrix that share a scale: from one value a group to one an element, and to one place a group."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from cases.quantising.granularity import Granularity
from cases.stream import Stream


@dataclass(frozen=True)
class Groups:
    """The groups of a matrix [rows, columns] under a ``granularity``."""

    granularity: Granularity
    rows: int
    columns: int
    device: torch.device

    @property
    def shape(self) -> tuple[int, int]:
        """How many there are along each axis."""
        return self.granularity.groups(self.rows, self.columns)

    def spread(self, values: Tensor) -> Tensor:
        """One value a group, [groups, groups], as one an element, [rows, columns]."""
        row = torch.arange(self.rows, device=self.device) // self.granularity.rows
        column = torch.arange(self.columns, device=self.device) // self.granularity.columns
        return values.index_select(0, row).index_select(1, column)

    def amax(self, magnitudes: Tensor) -> Tensor:
        """The largest of ``magnitudes`` [rows, columns], none of them negative, in each group."""
        height, width = self.granularity.rows, self.granularity.columns
        padding = (0, -self.columns % width, 0, -self.rows % height)
        whole = torch.nn.functional.pad(magnitudes, padding)
        down, across = self.shape
        return whole.reshape(down, height, across, width).amax((1, 3))

    def places(self, stream: Stream) -> tuple[Tensor, Tensor]:
        """Row and column of one element a group: its first, its last or any, in turn, so that each lane has some."""
        down, across = self.shape
        row, column = torch.arange(down, device=self.device)[:, None], torch.arange(across, device=self.device)[None]
        heights = (self.rows - row * self.granularity.rows).clamp(max=self.granularity.rows)
        widths = (self.columns - column * self.granularity.columns).clamp(max=self.granularity.columns)
        turn = (row + column) % 3
        drawn = [stream.child(axis).below(1 << 30, down, across) for axis in ("row", "column")]
        inside = [
            torch.where(turn == 0, 0, torch.where(turn == 1, size - 1, any_ % size))
            for size, any_ in zip((heights, widths), drawn, strict=True)
        ]
        return row * self.granularity.rows + inside[0], column * self.granularity.columns + inside[1]
