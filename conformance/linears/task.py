"""One case on one linear, from its tensors to its record."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from cases import LinearCase
from cases.linears.fill import Given, build_given
from conformance.calling import Outcome, share_memory, watch
from conformance.linears.catalogue import name_fault
from conformance.linears.judge import judge_form, judge_values
from conformance.linears.linear import Linear
from conformance.location import locate
from conformance.presentation import Handed
from conformance.probe import Platform
from conformance.subjects.handing import hand_over, shaped
from conformance.subjects.judging import judge_call
from conformance.subjects.task import Judged, Task, promised
from conformance.tiers import Judgement, failed


@dataclass(frozen=True)
class LinearTask(Task):
    """A case for a linear on a platform, and what is owed there."""

    case: LinearCase
    backend: Linear

    @classmethod
    def of(cls, case: LinearCase, backend: Linear, platform: Platform) -> LinearTask:
        """The task with its promise: a plain x of whole groups is owed, anything else may be refused as well."""
        problem = case.problem
        unusual = any(name.startswith("x-") for name in case.options)
        unsure = problem.k % 128 != 0 or not problem.is_aligned or unusual or not problem.m
        return cls(case, backend, platform, promised(backend.why_not(case), unsure))

    def build(self, *, seed: int, device: torch.device) -> Given:
        """The input of the case."""
        return build_given(self.case, seed=seed, device=device)

    def judge(self, given: Given) -> Judged:
        """Call the linear and judge its result."""
        tensors = {"x": given.x, "weight": given.operands.B, "weight_scale": given.operands.Bs}
        bias = {} if given.bias is None else {"bias": given.bias[None]}
        handed = hand_over({**tensors, **bias}, self.case.options)
        x = shaped(handed.tensors[0], self.case.options)
        outcome = self._call(handed, x)
        judgement = judge_call(self.promise, outcome) or judge_form(self.case, x, outcome.returned)
        if judgement is not None:
            return Judged(judgement)
        assert isinstance(outcome.returned, Tensor)
        out = outcome.returned.detach()
        flat = out.reshape(-1, self.case.problem.n)
        judgement, wrong = judge_values(self.case, given, flat)
        if judgement.verdict == "failed":
            return Judged(judgement, (flat,), {**vars(locate(wrong)), **self._named(given, x, flat)})
        if "twice" in self.case.options:
            judgement = self._again(handed, x, out) or judgement
        return Judged(judgement, (flat,))

    def _call(self, handed: Handed, x: Tensor) -> Outcome:
        """Call the linear on soiled memory and see what it does to what it was given."""
        _, weight, weight_scale, *rest = handed.tensors
        bias = rest[0][0] if rest else None
        return watch(lambda: self.backend.call(self.case, x, weight, weight_scale, bias), handed, self.case.problem)

    def _again(self, handed: Handed, x: Tensor, first: Tensor) -> Judgement | None:
        """What is wrong with a second call, or with what it did to the result of the first one."""
        kept = first.clone()
        outcome = self._call(handed, x)
        if outcome.damage:
            return failed("memory-changed", outcome.damage)
        second = outcome.returned
        misfit = judge_form(self.case, x, second)
        if misfit is not None:
            return failed("results-differ", f"the second call is answered otherwise: {misfit.detail}")
        assert isinstance(second, Tensor)
        if first.numel() and share_memory(second, (first,)):
            return failed("results-shared", "the result of the second call lies in the memory of the first one's")
        if not torch.equal(second, kept) or not torch.equal(first, kept):
            return failed("results-differ", "two calls on the same x give other bits")
        return None

    def _named(self, given: Given, x: Tensor, out: Tensor) -> dict[str, object]:
        found = name_fault(self.case, given, x, out)
        return {} if found is None else {"fault": found.name, "finding": found.sentence}
