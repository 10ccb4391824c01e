"""Memory that an allocator hands out again, made loud: elements that a kernel never writes must show.

What lies there otherwise may well be right: the result of the call before, or what the judge held that one against.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Protocol

import torch

M_PERTURB = -6
"""glibc's option to fill memory as malloc hands it out, with the complement of a byte; 0 turns it off."""
COMPLEMENT = 0x01
"""Fills with 0xFE: -1.7e38 in float32 and bfloat16, NaN in float16. No byte repeated is NaN in all but 0xFF, and the
complement of that one is 0."""
BLOCKS = 4
"""Blocks that are soiled at once, since temporaries of a kernel may take the first ones."""
LARGE = 1 << 27
"""Bytes from which one block has to do."""


class Resulting(Protocol):
    """Anything of which a matrix [m, n] of ``out_dtype`` comes."""

    @property
    def m(self) -> int:
        """Rows of the result."""

    @property
    def n(self) -> int:
        """Columns of the result."""

    @property
    def out_dtype(self) -> torch.dtype:
        """Dtype of the result."""


@contextmanager
def soiled(problem: Resulting, device: torch.device) -> Iterator[None]:
    """Run the body on soiled memory.

    With glibc on a CPU all of it is, temporaries included. Elsewhere it is the blocks that fit the result (`soil`),
    which a kernel misses that takes memory of the same size for something else first.
    """
    perturb = _perturbing() if device.type == "cpu" else None
    soil(problem, device, blocks=BLOCKS if perturb is None else 1)
    if perturb is None:
        yield
        return
    perturb(M_PERTURB, COMPLEMENT)
    try:
        yield
    finally:
        perturb(M_PERTURB, 0)


def soil(problem: Resulting, device: torch.device, *, blocks: int = BLOCKS) -> None:
    """Leave NaN in ``blocks`` free blocks of the size of the result, as dtype of the result and as float32."""
    shape = max(problem.m, 1), problem.n
    blocks = blocks if 4 * shape[0] * shape[1] < LARGE else 1
    _ = [
        torch.full(shape, torch.nan, dtype=dtype, device=device)
        for dtype in (problem.out_dtype, torch.float32)
        for _ in range(blocks)
    ]


@cache
def _perturbing() -> Callable[[int, int], object] | None:
    """The mallopt of glibc, or None where there is another C library or the user perturbs memory himself."""
    own = "MALLOC_PERTURB_" in os.environ or "glibc.malloc.perturb" in os.environ.get("GLIBC_TUNABLES", "")
    if own or not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library.mallopt if hasattr(library, "gnu_get_libc_version") else None
