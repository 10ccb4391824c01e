"""A batch of generated cases on one backend: one record, and the smallest failing case where there is one."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import torch

from cases.case import EXAMPLE, Case
from cases.strategies import EXAMPLES, Batch, generated_cases
from conformance.assignment import Assignment
from conformance.backends.asking import AnswerError
from conformance.backends.protocol import Backend
from conformance.contract import Declined
from conformance.deviations.ledger import Ledger
from conformance.execute import run_case
from conformance.isolation.guard import drawn
from conformance.probe import Platform
from conformance.shards.share import Work
from conformance.verdict import CaseRecord, Verdict


@dataclass(frozen=True)
class Drawing:
    """A batch for a backend on a platform."""

    batch: Batch
    backend: Backend
    platform: Platform

    @property
    def computes(self) -> bool:
        """Whether the backend computes products here at all: what only refuses has nothing to generate for."""
        example = Assignment.of(EXAMPLE, self.backend, self.platform)
        # Whoever declares limits has other problems, and draws of them.
        return example.computes or (isinstance(example.promise, Declined) and self.backend.capabilities.limits_problems)

    @property
    def work(self) -> Work:
        """Itself as a piece of the plan; its inputs are its own."""
        return Work((self.backend.name, self.batch.id), self.batch.id, float(EXAMPLES))

    @property
    def about(self) -> dict[str, Any]:
        """What is known of its record before it was run."""
        return {
            "id": self.batch.id,
            "backend": self.backend.name,
            "check": "generated",
            "path": self.platform.path,
            "expected": "right or refused",
            "model": self.backend.is_model,
        }


class _WrongError(Exception):
    """A failing example, for Hypothesis to shrink."""


def run_batch(drawing: Drawing, ledger: Ledger, *, seed: int, device: torch.device) -> CaseRecord:
    """Draw, run and, where one fails, shrink. Raises only where the harness itself fails."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded

    started = time.perf_counter()
    counts: Counter[tuple[Verdict, str]] = Counter()
    failures: list[CaseRecord] = []

    @seeded(f"{seed}/{drawing.batch.seed}")
    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )
    @given(generated_cases())
    def check(case: Case) -> None:
        drawn(case.id, device)
        if ledger.quarantines(case, drawing.backend.name):
            return
        record = _drawn(case, drawing, seed=seed, device=device)
        # A draw need not show what it could; only failures that nobody foresaw count, and are shrunk.
        record = ledger.settle(case, record) if record.verdict == "failed" else record
        if not failures:
            counts[record.verdict, record.deviation] += 1
        if record.verdict == "failed":
            failures.append(record)
            raise _WrongError

    try:
        check()
    except BaseException as error:
        # A failure that does not repeat comes as another exception (or group) of Hypothesis's; the record has it all.
        if not failures or isinstance(error, KeyboardInterrupt | SystemExit):
            raise
    return _record(drawing, counts, failures, time.perf_counter() - started)


def _drawn(case: Case, drawing: Drawing, *, seed: int, device: torch.device) -> CaseRecord:
    try:
        return run_case(Assignment.of(case, drawing.backend, drawing.platform), seed=seed, device=device)
    except AnswerError as error:  # the backend was asked of planned problems before, and never of this one
        return CaseRecord(case.id, drawing.backend.name, "failed", "raised", str(error))


def _record(
    drawing: Drawing, counts: Counter[tuple[Verdict, str]], failures: list[CaseRecord], seconds: float
) -> CaseRecord:
    about = {**drawing.about, "examples": sum(counts.values()), "seconds": round(seconds, 4)}
    if failures:
        # Hypothesis ends with the smallest failure it found.
        smallest = failures[-1]
        return replace(smallest, **{**about, "reproduce": smallest.id, "detail": f"{smallest.id}: {smallest.detail}"})
    said = ", ".join(f"{count} {verdict}{name and f' ({name})'}" for (verdict, name), count in counts.most_common())
    computed = counts["passed", ""] > 0
    most: tuple[Verdict, str] = ("passed", "") if computed else counts.most_common(1)[0][0]
    return CaseRecord(**about, verdict=most[0], deviation=most[1], detail=said, computed=computed)
