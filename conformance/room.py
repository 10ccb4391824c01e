"""Whether a device has the memory that the largest cases take."""

from __future__ import annotations

import torch

from cases import Problem
from conformance.devices import give_back_memory
from conformance.memory import free_memory

PER_CODE, PER_RESULT = 8, 12
"""Bytes that building an operand takes at its peak, and those that a result, its poison and its comparison take."""
BESIDE = 8 << 30
"""Bytes for what else a kernel and the judge need."""
GIB = 1 << 30


def why_no_room(problem: Problem, device: torch.device) -> str | None:
    """Why ``problem`` is too large for ``device``, as a sentence, or None; unknown memory is taken for enough."""
    needed = PER_CODE * (problem.m + problem.n) * problem.k + PER_RESULT * problem.m * problem.n + BESIDE
    free = _free(device)
    if free is None or free >= needed:
        return None
    return f"it takes about {needed / GIB:.0f} GiB of memory, and {free / GIB:.0f} GiB are free on {device}"


def _free(device: torch.device) -> int | None:
    """Bytes that can be had, what torch keeps for itself included."""
    if device.type == "cuda":
        give_back_memory(device)
        return int(torch.cuda.mem_get_info(device)[0])
    return free_memory() if device.type == "cpu" else None
