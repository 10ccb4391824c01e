"""The oracles of the field's tests re-created, to run the seeded faults past them.

`PEERS` holds them by name: what each test draws, what it compares with and which limit it sets, from its published
source. `conformance.peers.census` sorts the faults into what each of them catches, misses and cannot see.
"""

from __future__ import annotations

from conformance.peers import frameworks, libraries, serving
from conformance.peers.record import PEERS, SIZES, Peer, Sample, Shape, Size

REGISTERED_BY = (serving, libraries, frameworks)
"""The modules whose import fills the registry."""

__all__ = ["PEERS", "SIZES", "Peer", "Sample", "Shape", "Size"]
