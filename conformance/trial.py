"""A case about to be tried: what a scenario has in hand, and what it hands back."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from cases import Problem
from cases.operands import Operands
from conformance.assignment import Assignment
from conformance.calling import Outcome, call
from conformance.evidence import Evidence
from conformance.judge import judge
from conformance.presentation import Presented, present
from conformance.tiers import Claim, Judgement


@dataclass(frozen=True)
class Trial:
    """An assignment with its evidence, and the steps that scenarios are made of."""

    assignment: Assignment
    evidence: Evidence

    @property
    def problem(self) -> Problem:
        """What is multiplied."""
        return self.assignment.case.problem

    @property
    def operands(self) -> Operands:
        """The logical operands."""
        return self.evidence.operands

    @property
    def claim(self) -> Claim | None:
        """The arithmetic that results are held to."""
        return self.assignment.claim

    @property
    def device(self) -> torch.device:
        """Where the operands are."""
        return self.operands.A.device

    def call(self, presented: Presented | None = None) -> Outcome:
        """Call the kernel with ``presented`` operands, or with the case's own laid out as usual."""
        presented = presented or present(self.operands)
        return call(self.assignment.backend, presented, self.problem)

    def judge(self, outcome: Outcome, evidence: Evidence | None = None) -> Judgement:
        """The verdict on one outcome, for the case's own operands or those of other ``evidence``."""
        return judge(
            self.assignment.case, evidence or self.evidence, self.assignment.promise, self.assignment.claim, outcome
        )


@dataclass(frozen=True)
class Finding:
    """What a scenario comes to: a judgement, and the output that the record's digest is taken of."""

    judgement: Judgement
    output: Tensor | None = None

    @classmethod
    def of(cls, judgement: Judgement, outcome: Outcome) -> Finding:
        """The finding of a single call."""
        return cls(judgement, outcome.returned if isinstance(outcome.returned, Tensor) else None)
