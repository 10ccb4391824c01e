"""When a refusal comes: on the host, or only after the device has worked."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import torch

SHORT, LONG = 1 << 27, 1 << 30
"""Clock cycles for which the device is busy while it is asked to refuse: a tenth of a second, and most of one."""


def waits_for_nothing(action: Callable[[], object], occupy: Callable[[int], Callable[[], bool]]) -> bool:
    """Whether ``action`` ends while a device is busy; ``occupy`` makes it so and says how to ask whether it is done.

    A host that is slow once is given more time once.
    """
    for cycles in (SHORT, LONG):
        is_done = occupy(cycles)
        with suppress(Exception):  # that it refuses is known
            action()
        if not is_done():
            return True
    return False


def occupy_gpu(cycles: int) -> Callable[[], bool]:
    """Keep the current stream of a GPU busy for so many ``cycles``; the answer says whether that is over."""
    torch.cuda.synchronize()
    torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]
    event = torch.cuda.Event()  # type: ignore[no-untyped-call]
    event.record()
    return event.query
