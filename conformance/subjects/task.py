"""A case for a subject that is no kernel: what is owed, and what a record says in any case."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cases.operands import digest_of
from conformance.contract import Absent, Compute, Promise, RightOrRefused
from conformance.planned import PlannedCase
from conformance.shards.share import Work, cost_of
from conformance.tiers import Judgement
from conformance.verdict import CaseRecord

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True)
class Judged:
    """A judgement, the results that it is about where there are any of the right form, and members of the record."""

    judgement: Judgement
    results: tuple[Tensor, ...] = ()
    described: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Task(PlannedCase, ABC):
    """What an `Assignment` is to kernels: a case that is built, handed over and judged as its kind of subject wants."""

    @abstractmethod
    def build(self, *, seed: int, device: torch.device) -> Any:
        """What the subject is given; its ``digest`` names the bytes."""

    @abstractmethod
    def judge(self, given: Any) -> Judged:
        """Call the subject and judge what comes."""

    def run(self, *, seed: int, device: torch.device) -> CaseRecord:
        """Build, call, judge. Raises only where the harness itself fails."""
        if isinstance(self.promise, Absent):
            return self.record(Judgement("unsupported", self.promise.reason))
        started = time.perf_counter()
        given = self.build(seed=seed, device=device)
        judged = self.judge(given)
        return self.record(
            judged.judgement,
            **judged.described,
            computed=any(result.numel() for result in judged.results),
            seconds=round(time.perf_counter() - started, 4),
            input_digest=given.digest,
            output_digest=digest_of(*judged.results) if judged.results else "",
        )

    @property
    def work(self) -> Work:
        """Itself as a piece of the plan."""
        return Work((self.backend.name, self.case.id), self.case.inputs, cost_of(self.case.macs))

    @property
    def computes(self) -> bool:
        """Whether a result may come."""
        return isinstance(self.promise, Compute | RightOrRefused)


def promised(why_not: str | None, unsure: bool) -> Promise:
    """What is owed where the subject cannot (``why_not``), where nobody promises it (``unsure``), and elsewhere."""
    if why_not:
        return Absent(why_not)
    return RightOrRefused() if unsure else Compute(may_decline=True)
