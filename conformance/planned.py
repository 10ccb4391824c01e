"""A case for a subject on a platform: what every record of one says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.contract import Absent, Promise, describe_promise
from conformance.probe import Platform
from conformance.tiers import Judgement
from conformance.verdict import CaseRecord


@dataclass(frozen=True)
class PlannedCase:
    """A case for a subject, which reports call its backend, on a platform, and what is owed there."""

    case: Any
    backend: Any
    platform: Platform
    promise: Promise

    @property
    def needs_room(self) -> bool:
        """Whether it needs the memory of the device to itself."""
        return "huge" in self.case.marks and not isinstance(self.promise, Absent)

    def record(self, judgement: Judgement, **more: object) -> CaseRecord:
        """The record of ``judgement``; ``more`` are other members of it."""
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
            "holds": judgement.holds,
            "measured": judgement.measured,
        }
        # A record checks none of its members by itself; `conformance.form` does when a report is read.
        return CaseRecord(**{**fields, **more})  # type: ignore[arg-type]
