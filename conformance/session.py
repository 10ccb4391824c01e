"""What one session judges: backends, device, profile, seed, selection; resolved once and checked at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from conformance.assigning import assigned
from conformance.assignment import Assignment
from conformance.backends.padding import cublas_version
from conformance.backends.registry import check_names, load_backends
from conformance.contract.described import described
from conformance.deviations.entry import Machine
from conformance.deviations.ledger import Ledger
from conformance.generated import Drawing
from conformance.probe import Platform, driver_version, parse_device, probe
from conformance.recorded import check_recordings
from conformance.request import Request
from conformance.shards.share import Key, Work
from conformance.subjects.found import load_linears, load_quantisers
from conformance.tiers import failed
from conformance.verdict import CaseRecord, Reason
from conformance.versions import release

if TYPE_CHECKING:
    import torch

    from conformance.backends.protocol import Backend
    from conformance.linears.linear import Linear
    from conformance.quantising.quantiser import Quantiser
    from conformance.subjects.task import Task


@dataclass(frozen=True)
class Session:
    """A request with its device, platform and everything that is judged."""

    request: Request
    device: torch.device
    platform: Platform
    backends: tuple[Backend, ...]
    quantisers: tuple[Quantiser, ...] = ()
    linears: tuple[Linear, ...] = ()

    @classmethod
    def open(cls, request: Request) -> Session:
        """Resolve ``request``. Raises UsageError for anything in it that does not exist here."""
        request.check()
        device = parse_device(request.device)
        platform = probe(device)
        session = cls(request, device, platform, *_subjects(request, platform))
        # Asks every subject all that it can be asked beforehand, so that a mistake in it is found now.
        check_recordings()
        _ = session.ledger, session.assignments, session.tasks, [subject.describe() for subject in session.subjects]
        return session

    @classmethod
    def describe(cls, request: Request, on: str | None, torch_version: str | None) -> Session:
        """The session that ``request`` would be on another machine: for plans, since nothing can be run there.

        ``on`` is ``kind/arch``, and this machine's where it is None; so is the torch. Raises UsageError.
        """
        request.check()
        device = parse_device(request.device)
        here = probe(device)
        platform = described(on or here.spelled, release(torch_version) if torch_version else here.torch_version)
        return cls(request, device, platform, *_subjects(request, platform))

    @property
    def subjects(self) -> tuple[Backend | Quantiser | Linear, ...]:
        """Everything that is judged, kernels first."""
        return (*self.backends, *self.quantisers, *self.linears)

    @property
    def seed(self) -> int:
        """The suite seed."""
        return self.request.seed

    @cached_property
    def ledger(self) -> Ledger:
        """The known deviations of this machine."""
        machine = Machine(self.platform, cublas_version(), driver_version(self.platform))
        return Ledger.open(self.request.deviations, machine, quarantined=not self.request.quarantined)

    @cached_property
    def assignments(self) -> tuple[Assignment, ...]:
        """Every planned case of every backend, in the order in which they are judged."""
        cases, named = self.request.chosen_cases(), bool(self.request.cases)
        return assigned(cases, self.backends, self.platform, named=named)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """Every planned case of every quantiser and linear; those that a subject has nothing for where one is named."""
        from conformance.linears.task import LinearTask
        from conformance.quantising.task import QuantTask

        quantised = [
            QuantTask.of(case, quantiser, self.platform)
            for case in self.request.chosen_quantisations()
            for quantiser in self.quantisers
            if self.request.cases or quantiser.quantises(case)
        ]
        computed = [
            LinearTask.of(case, linear, self.platform)
            for case in self.request.chosen_linears()
            for linear in self.linears
        ]
        return (*quantised, *computed)

    @cached_property
    def drawings(self) -> tuple[Drawing, ...]:
        """Every batch of generated cases for every backend that computes here."""
        drawings = (
            Drawing(batch, backend, self.platform)
            for batch in self.request.chosen_batches()
            for backend in self.backends
        )
        return tuple(drawing for drawing in drawings if self.request.cases or drawing.computes)

    @cached_property
    def planned(self) -> frozenset[Key]:
        """(backend, id) of everything that was asked for, before any share of it is taken."""
        return frozenset(work.key for work in self._work())

    @cached_property
    def share(self) -> frozenset[Key]:
        """(backend, id) of what is to be run here."""
        shard = self.request.shard
        return shard.of(self._work()) if shard else self.planned

    @property
    def shared_assignments(self) -> tuple[Assignment | Task, ...]:
        """The `assignments` and `tasks` that are to be run here."""
        return tuple(piece for piece in self.pieces if piece.work.key in self.share)

    @property
    def shared_drawings(self) -> tuple[Drawing, ...]:
        """The `drawings` that are to be run here."""
        return tuple(piece for piece in self.drawings if piece.work.key in self.share)

    def find(self, key: Key) -> Assignment | Task | Drawing:
        """What (backend, id) ``key`` stands for. Raises StopIteration where that is nothing."""
        return next(piece for piece in (*self.pieces, *self.drawings) if piece.work.key == key)

    def failed(self, key: Key, reason: Reason, detail: str, *, drawn: str = "") -> CaseRecord:
        """The record of the case ``key`` where its process has not left one; ``drawn`` is the guilty one of a batch."""
        work = self.find(key)
        if isinstance(work, Drawing):
            said = f"{drawn}: {detail}" if drawn else detail
            return CaseRecord(**work.about, verdict="failed", reason=reason, detail=said, reproduce=drawn)
        return self.ledger.settle(work.case, work.record(failed(reason, detail)))

    @property
    def pieces(self) -> tuple[Assignment | Task, ...]:
        """Every planned case of everything that is judged."""
        return *self.assignments, *self.tasks

    def _work(self) -> Iterator[Work]:
        yield from (piece.work for piece in (*self.pieces, *self.drawings))


Subjects = tuple["tuple[Backend, ...]", "tuple[Quantiser, ...]", "tuple[Linear, ...]"]


def _subjects(request: Request, platform: Platform) -> Subjects:
    """Kernels, quantisers and linears. Raises UsageError where two of them have one name."""
    named = request.backends or (default_backends(platform) if request.judges_kernels else ())
    found = load_backends(named), load_quantisers(request.quantisers), load_linears(request.linears)
    check_names([subject for kind in found for subject in kind])
    return found


def default_backends(platform: Platform) -> tuple[str, ...]:
    """Torch's two APIs, and the emulated SM90 where there is no real one."""
    return ("torch-v1", "torch-v2") if platform.path == "sm90" else ("torch-v1", "torch-v2", "emulated-sm90")
