"""Random orders of an axis that respect its blocks."""

from __future__ import annotations

import torch
from torch import Tensor

from cases.stream import Stream


def inside_blocks(stream: Stream, count: int, width: int) -> Tensor:
    """A permutation of 0 .. count-1 that leaves everything in its block of ``width``; never the identity if it can."""
    place = torch.arange(count, device=stream.device)
    order = torch.argsort(stream.words(count))
    index = order[torch.argsort(order // width, stable=True)]
    first = place // width * width
    backwards = first + (first + width).clamp(max=count) - 1 - place
    return backwards if torch.equal(index, place) else index


def whole_blocks(stream: Stream, count: int, width: int) -> Tensor:
    """A permutation of 0 .. count-1 that moves whole blocks of ``width``; a ragged last one stays where it is."""
    blocks, index = count // width, torch.arange(count, device=stream.device)
    order = torch.argsort(stream.words(blocks))
    if torch.equal(order, torch.arange(blocks, device=stream.device)):
        order = order.roll(1)
    index[: blocks * width] = (order[:, None] * width + index[:width]).flatten()
    return index


def inverse(index: Tensor) -> Tensor:
    """The permutation that undoes ``index``."""
    return torch.argsort(index)
