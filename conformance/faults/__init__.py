"""Deliberately wrong kernels, to see that the suite catches them, and right ones that it must pass.

Every fault is one seam of one honest kernel (`conformance.faults.kernel.Kernel`) replaced, after a public report of a
kernel that shipped that way. All are backends by their snake-case name:

    conformance run --backend conformance.faults:b_scale_leading_dimension

`FAULTS` and `HONEST` hold their records by kebab-case name. A record's ``build`` makes a backend with no state of any
other; so does each access by attribute. Faults that change global state (`rng-advanced`, `default-dtype-changed`,
`tf32-left-on`) do so in the process that calls them.
"""

from __future__ import annotations

from conformance.faults import (
    addressing,
    aliasing,
    codes,
    contract,
    dispatch,
    epilogues,
    faked,
    fixed_point,
    given_out,
    honest,
    k_tails,
    lanes,
    lifetimes,
    limits,
    malformed,
    mutation,
    narrow,
    overhang,
    preparation,
    races,
    refusals,
    rounding,
    scale_blocks,
    scale_format,
    scale_index,
    scale_layout,
    settings,
    sparsity,
    special_values,
    state,
    streams,
    strides,
    tile_edges,
    written_memory,
)
from conformance.faults.kernel import FAULTS, HONEST, Call, Fault, Kernel, Variant, fault

SEEDED_BY = (
    addressing,
    aliasing,
    codes,
    contract,
    dispatch,
    epilogues,
    faked,
    fixed_point,
    given_out,
    honest,
    k_tails,
    lanes,
    lifetimes,
    limits,
    malformed,
    mutation,
    narrow,
    overhang,
    preparation,
    races,
    refusals,
    rounding,
    scale_blocks,
    scale_format,
    scale_index,
    scale_layout,
    settings,
    sparsity,
    special_values,
    state,
    streams,
    strides,
    tile_edges,
    written_memory,
)
"""The modules whose import fills the registry."""

__all__ = ["FAULTS", "HONEST", "Call", "Fault", "Kernel", "Variant", "fault"]


def __getattr__(name: str) -> Kernel:
    """A fresh backend for the fault or right kernel whose name in snake case is ``name``."""
    spelled = name.replace("_", "-")
    record = FAULTS.get(spelled) or HONEST.get(spelled)
    if record is None:
        raise AttributeError(f"module {__name__!r} has no fault and no right kernel called {spelled!r}")
    return record.build()
