"""Running one case on one backend, from operands to record."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import Tensor

from cases import Case
from cases.operands import digest_of
from cases.recordings import recorded_libraries
from conformance.backends.padding import cublas_version
from conformance.backends.protocol import Backend
from conformance.capabilities import Absent, Compute, Promise, Refuse, promise_of
from conformance.evidence import Evidence, evidence_for
from conformance.judge import Outcome, judge, synchronise
from conformance.presentation import present
from conformance.probe import Platform
from conformance.tiers import Claim, Judgement
from conformance.verdict import CaseRecord
from reference import SM90


@dataclass(frozen=True)
class Assignment:
    """A case for a backend on a platform, and what is owed there."""

    case: Case
    backend: Backend
    platform: Platform
    promise: Promise

    @classmethod
    def of(cls, case: Case, backend: Backend, platform: Platform) -> Assignment:
        """The assignment with its promise: the contract's for torch's own APIs, the backend's word for others."""
        return cls(case, backend, platform, _promise(case, backend, platform))

    @property
    def claim(self) -> Claim | None:
        """The arithmetic to hold results to: the backend's own, or SM90 where torch is expected to show it."""
        if self.backend.arithmetic is not None:
            return Claim(self.backend.arithmetic, "bound" if self.backend.is_model else "declared")
        if self.backend.api and self.platform.path == "sm90":
            known = (self.platform.arch, cublas_version()) in recorded_libraries()
            return Claim(SM90, "declared" if known else "expected")
        return None

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
            "family": self.case.family.name,
            "model": self.backend.is_model,
            "measured": judgement.measured,
        }
        return CaseRecord(**{**fields, **more})  # type: ignore[arg-type]


def describe_promise(promise: Promise) -> str:
    """A promise as records spell it."""
    match promise:
        case Compute(via=via):
            return f"{via.split(':')[0]}" if via else "compute"
        case Refuse(refusals=refusals):
            return "refuse " + "/".join(refusal.label for refusal in refusals)
        case Absent():
            return "absent"
        case _:
            return "right or refused"


def _promise(case: Case, backend: Backend, platform: Platform) -> Promise:
    implemented, reason = backend.can_implement(case.problem)
    if not implemented:
        return Absent(f"{backend.name}: {reason}")
    if backend.api:
        return promise_of(backend.api, platform, case.problem)
    supported, reason = backend.is_supported(platform)
    return Compute() if supported else Absent(f"{backend.name}: {reason}")


def run_case(assignment: Assignment, *, seed: int, device: torch.device) -> CaseRecord:
    """Build, call, judge. Raises only where the harness itself fails."""
    started = time.perf_counter()
    declined = decline(assignment)
    if declined is not None:
        return assignment.record(declined)
    evidence = evidence_for(assignment.case, seed=seed, device=device)
    outcome = call(assignment, evidence)
    judgement = judge(assignment.case, evidence, assignment.promise, assignment.claim, outcome)
    output = outcome.returned
    return assignment.record(
        judgement,
        computed=isinstance(output, Tensor) and not _is_detour(assignment.promise),
        seconds=round(time.perf_counter() - started, 4),
        input_digest=evidence.operands.digest,
        output_digest=digest_of(output) if isinstance(output, Tensor) else "",
        deterministic=assignment.backend.deterministic,
    )


def decline(assignment: Assignment) -> Judgement | None:
    """Why the kernel is not called at all, as a judgement, or None."""
    if isinstance(assignment.promise, Absent):
        return Judgement("unsupported", assignment.promise.reason)
    if assignment.case.family.tier == "declared" and not _declares(assignment.claim):
        return Judgement("unsupported", "special values are judged against a declared arithmetic only")
    return None


def _declares(claim: Claim | None) -> bool:
    return claim is not None and claim.strength == "declared"


def _is_detour(promise: Promise) -> bool:
    return isinstance(promise, Compute) and bool(promise.via)


def call(assignment: Assignment, evidence: Evidence) -> Outcome:
    """Hand presented operands to the kernel and see what it does to them."""
    presented = present(evidence.operands)
    returned, raised = None, None
    try:
        returned = assignment.backend.apply(presented.tensors, assignment.case.problem)
        synchronise(evidence.operands.A.device)
    except Exception as error:  # a kernel under test may raise anything
        raised = error
    return Outcome(returned, raised, presented.damage())
