"""The seeded faults past every peer: which ones its test catches, misses, or cannot see at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from conformance.faults import FAULTS, HONEST, Fault, Kernel, Variant
from conformance.faults.declared import declared
from conformance.peers import PEERS, SIZES, Peer, Size
from conformance.peers.held import Fresh, Held
from conformance.probe import parse_device
from conformance.scenarios.surroundings import put_back, surroundings
from conformance.workers import as_done, pool_of

Fate = Literal["caught", "missed", "invisible"]
FATES: tuple[Fate, ...] = ("caught", "missed", "invisible")
Build = Callable[[Fault | Variant], Kernel]
"""Makes a fresh kernel of a fault, or of the honest variant. Picklable where there are several workers."""
HONEST_KERNEL = "block-loop"


def as_seeded(record: Fault | Variant) -> Kernel:
    """The kernel as it is registered."""
    return record.build()


def as_sm90(record: Fault | Variant) -> Kernel:
    """The kernel with the arithmetic of SM90 wherever it is not wrong."""
    return declared(record.name)()


@dataclass(frozen=True)
class Row:
    """What became of the faults at one size of one peer; ``alarm`` where it rejects the honest kernel."""

    peer: str
    size: Size
    caught: tuple[str, ...]
    missed: tuple[str, ...]
    invisible: tuple[str, ...]
    alarm: bool


@dataclass(frozen=True)
class Census:
    """All rows, the faults that were tried, and where."""

    rows: tuple[Row, ...]
    faults: tuple[str, ...]
    device: str

    def row(self, peer: str, size: Size) -> Row | None:
        """The row of ``peer`` at ``size``, if that was counted."""
        return next((row for row in self.rows if (row.peer, row.size) == (peer, size)), None)

    @property
    def alarms(self) -> list[str]:
        """Peers and sizes that reject the honest kernel: nothing that they catch there counts."""
        return [f"{row.peer} ({row.size})" for row in self.rows if row.alarm]


def census(
    sizes: Sequence[Size] = SIZES,
    *,
    device: torch.device | None = None,
    build: Build = as_seeded,
    peers: Iterable[str] | None = None,
    faults: Iterable[str] | None = None,
    workers: int = 1,
    seed: int = 0,
) -> Census:
    """Run ``faults`` (all that can show on ``device``) past ``peers`` (all) at ``sizes``.

    Several ``workers`` share the work, and the accelerator where there is one: most of the time goes by on the host.
    """
    device = device or parse_device(None)
    names = tuple(faults or (name for name, fault in FAULTS.items() if fault.needs in ("", "compile", device.type)))
    # A peer that lists one shape has one row, which stands for both sizes.
    jobs = [(p, s) for p in peers or PEERS for s in sizes if s == sizes[0] or PEERS[p].small != PEERS[p].large]
    with pool_of(workers) as pool:
        running = {pool.submit(count, *job, names, device, build, seed): job for job in jobs}
        rows = dict(as_done(running, "peers"))
    return Census(tuple(rows[job] for job in jobs), names, str(device))


def count(
    peer: str, size: Size, names: Iterable[str], device: torch.device, build: Build = as_seeded, seed: int = 0
) -> Row:
    """The row of one peer at one size: samples and honest results are made once, kernels afresh for each fault."""
    subject, honest = PEERS[peer], build(HONEST[HONEST_KERNEL])
    tries = [Try.of(subject, Held.of(x.resolved(honest)), honest) for x in subject.samples(size, device, seed)]
    fates: dict[Fate, list[str]] = {fate: [] for fate in FATES}
    for name in names:
        before = surroundings(device)
        fates[fate_of(build(FAULTS[name]), tries)].append(name)
        # What some faults change must spoil no verdict but their own.
        put_back(before)
    caught, missed, invisible = (tuple(fates[fate]) for fate in FATES)
    return Row(peer, size, caught, missed, invisible, alarm=not all(x.accepts(x.honest) for x in tries))


@dataclass(frozen=True)
class Try:
    """A sample of a peer beside what the honest kernel makes of it."""

    peer: Peer
    held: Held
    honest: Tensor

    @classmethod
    def of(cls, peer: Peer, held: Held, honest: Kernel) -> Try:
        """Call the honest kernel once; it may keep its result."""
        return cls(peer, held, held.call(honest).clone())

    def accepts(self, out: Tensor) -> bool:
        """Whether the test passes ``out``."""
        return out.shape == self.honest.shape and self.peer.accepts(out, self.held.drawn)

    def fate(self, kernel: Kernel) -> Fate:
        """What becomes of ``kernel`` on this sample: as many calls as the test makes, and a raise is caught."""
        self.held.restore()
        try:
            with Fresh(self.peer.prefill):
                first, out = None, self.held.call(kernel)
                for _ in range(self.held.drawn.repeats - 1):
                    first, out = out.clone() if first is None else first, self.held.call(kernel)
                    if not same(out, first):
                        return "caught"
        except torch.OutOfMemoryError:
            # Of this machine, not of the kernel.
            raise
        except Exception:
            return "caught"
        if same(out, self.honest):
            return "invisible"
        return "missed" if self.accepts(out) else "caught"


def fate_of(kernel: Kernel, tries: Iterable[Try]) -> Fate:
    """What becomes of ``kernel`` in the whole test: caught by any sample, or seen by none, or in between."""
    seen = False
    for attempt in tries:
        fate = attempt.fate(kernel)
        if fate == "caught":
            return fate
        seen = seen or fate == "missed"
    return "missed" if seen else "invisible"


def same(actual: Tensor, expected: Tensor) -> bool:
    """Whether two results agree in shape, dtype and every bit."""
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    return torch.equal(actual.contiguous().view(torch.uint8), expected.contiguous().view(torch.uint8))
