"""A case for a subject that is no kernel: what is owed, and what a record says in any case."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.contract import Absent, Compute, Promise, RightOrRefused, describe_promise
from conformance.probe import Platform
from conformance.shards.share import Work
from conformance.tiers import Judgement
from conformance.verdict import CaseRecord

if TYPE_CHECKING:
    import torch

    from conformance.execute import Run

MACS_AT_ONCE = 1e7


@dataclass(frozen=True)
class Task(ABC):
    """A case for a subject on a platform, and what is owed there: what an `Assignment` is to kernels."""

    case: Any
    backend: Any
    platform: Platform
    promise: Promise

    @abstractmethod
    def run(self, *, seed: int, device: torch.device) -> Run:
        """Build, call, judge. Raises only where the harness itself fails."""

    @property
    def work(self) -> Work:
        """Itself as a piece of the plan."""
        return Work((self.backend.name, self.case.id), self.case.inputs, 1 + self.case.macs / MACS_AT_ONCE)

    @property
    def computes(self) -> bool:
        """Whether a result may come."""
        return isinstance(self.promise, Compute | RightOrRefused)

    def declined(self) -> Judgement | None:
        """Why the subject is not called at all, as a judgement, or None."""
        return Judgement("unsupported", self.promise.reason) if isinstance(self.promise, Absent) else None

    def record(self, judgement: Judgement, **more: object) -> CaseRecord:
        """The record of ``judgement``."""
        fields: dict[str, object] = {
            "id": self.case.id,
            "backend": self.backend.name,
            "verdict": judgement.verdict,
            "reason": judgement.reason,
            "detail": judgement.detail,
            "path": self.platform.path,
            "expected": describe_promise(self.promise),
            "check": self.case.check,
            "model": self.backend.is_model,
            "measured": judgement.measured,
        }
        return CaseRecord(**{**fields, **more})  # type: ignore[arg-type]


def promised(why_not: str | None, unsure: bool) -> Promise:
    """What is owed where the subject cannot (``why_not``), where nobody promises it (``unsure``), and elsewhere."""
    if why_not:
        return Absent(why_not)
    return RightOrRefused() if unsure else Compute(may_decline=True)
