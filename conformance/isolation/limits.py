"""How long a case may take before it counts as hung."""

from __future__ import annotations

DEFAULT = 300.0
"""Seconds. A kernel may be compiled on its first call, with tuning, on a machine that does other things."""
START = 300.0
"""Seconds, at least, in which a process has to be ready for its first case: imports, the plan, what kernels answer."""
GRACE = 15.0
"""Seconds in which a process that has to end itself does; after them it is ended."""
RATES = {"cpu": 1e7}
"""Multiply-adds a second that the slowest honest case does with all its calls, where each of them is emulated."""
RATE = 1e9
"""The same on an accelerator."""


def limit_of(id_: str, timeout: float, kind: str) -> float:
    """Seconds for the case ``id_`` on a device of this ``kind``: ``timeout``, and more for a large product."""
    from cases import parse_case

    try:
        macs = parse_case(id_).macs
    except ValueError:
        macs = 0  # a batch of generated cases, each of which gets the time anew
    return timeout + macs / RATES.get(kind, RATE)
