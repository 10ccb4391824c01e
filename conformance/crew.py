"""How many workers ``-n auto`` starts: one for each processor, as far as memory and devices carry them."""

from __future__ import annotations

import torch

from conformance.devices import devices_alike
from conformance.memory import free_memory
from conformance.probe import parse_device

MEMORY = 2 << 30
"""Bytes of the machine's memory for a worker: torch, the operands of a large case, and their exact products."""
DEVICE_MEMORY = 6 << 30
"""Bytes of a device for a worker: its context, kernels, what torch keeps, and a large case."""


def crew(processors: int, device_name: str | None) -> int:
    """The number of workers on a machine with so many ``processors``, at least one.

    Each device has one at least and all have equally many, so that none waits for another's queue. Raises UsageError
    for a device that is not here.
    """
    sizes = _sizes(parse_device(device_name))
    per_device = min((size // DEVICE_MEMORY for size in sizes), default=processors)
    devices = len(sizes) or 1
    memory = free_memory()
    most = processors if memory is None else min(processors, memory // MEMORY)
    return max(1, min(most // devices, per_device)) * devices


def _sizes(device: torch.device) -> list[int]:
    """Bytes of each device that workers are spread over; empty for a CPU."""
    if device.type == "cpu":
        return []
    module = getattr(torch, device.type, None)
    of = getattr(module, "get_device_properties", None)
    if of is None:
        return []
    indices = devices_alike(device) or (device.index or 0,)
    return [int(of(index).total_memory) for index in indices]
