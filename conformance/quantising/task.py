"""One case on one quantiser, from its input to its record."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from cases import QuantCase
from cases.quantising.fill import Input, build_input
from conformance.calling import Outcome, share_memory, synchronise
from conformance.foreign import attempt
from conformance.location import locate
from conformance.presentation import Handed
from conformance.probe import Platform
from conformance.quantising.catalogue import name_fault
from conformance.quantising.judge import Pair, judge_form, judge_values
from conformance.quantising.quantiser import Quantiser
from conformance.soiling import soiled
from conformance.subjects.handing import hand_over, shaped
from conformance.subjects.judging import judge_call
from conformance.subjects.task import Judged, Task, promised
from conformance.tiers import Judgement, failed


@dataclass(frozen=True)
class QuantTask(Task):
    """A case for a quantiser on a platform, and what is owed there."""

    case: QuantCase
    backend: Quantiser

    @classmethod
    def of(cls, case: QuantCase, backend: Quantiser, platform: Platform) -> QuantTask:
        """The task with its promise: whole groups of a plain x are owed, anything else may be refused as well."""
        unusual = any(name.startswith("x-") for name in case.options)
        unsure = case.is_ragged or unusual or not case.rows
        return cls(case, backend, platform, promised(backend.why_not(case), unsure))

    def build(self, *, seed: int, device: torch.device) -> Input:
        """The input of the case."""
        return build_input(self.case, seed=seed, device=device)

    def judge(self, given: Input) -> Judged:
        """Call the quantiser and judge codes and scales."""
        handed = hand_over({"x": given.x}, self.case.options)
        x = shaped(handed.tensors[0], self.case.options)
        outcome = self._call(handed, x)
        judgement = judge_call(self.promise, outcome)
        if judgement is not None:
            return Judged(judgement)
        pair = judge_form(self.case, x, outcome.returned)
        if isinstance(pair, Judgement):
            return Judged(pair)
        judgement, wrong = judge_values(self.case, given.x, pair, self.backend.arithmetic)
        if judgement.verdict == "failed":
            return Judged(judgement, pair.results, self._described(given.x, pair, wrong))
        if "twice" in self.case.options:
            judgement = self._again(handed, x, pair) or judgement
        return Judged(judgement, pair.results)

    def _call(self, handed: Handed, x: Tensor) -> Outcome:
        """Call the quantiser on soiled memory and see what it does to ``x`` and around it."""

        def act() -> object:
            came = self.backend.call(self.case, x)
            synchronise(x.device)
            return came

        with soiled(_Codes(self.case), x.device):
            done = attempt(act)
            if done.error is not None:
                synchronise(x.device)
        return Outcome(done.value, done.error, handed.damage() or _kept(done.value, handed))

    def _again(self, handed: Handed, x: Tensor, first: Pair) -> Judgement | None:
        """What is wrong with a second call, or with what it did to the results of the first one."""
        kept = first.codes.view(torch.uint8).clone(), first.scales.clone()
        outcome = self._call(handed, x)
        if outcome.damage:
            return failed("memory-changed", outcome.damage)
        second = judge_form(self.case, x, outcome.returned)
        if isinstance(second, Judgement):
            return failed("results-differ", f"the second call is answered otherwise: {second.detail}")
        if first.codes.numel() and share_memory(second.codes, (first.codes,)):
            return failed("results-shared", "the codes of the second call lie in the memory of the first one's")
        for name, one, others in (
            ("codes", kept[0], (second.codes.view(torch.uint8), first.codes.view(torch.uint8))),
            ("scales", kept[1].view(torch.int32), (second.scales.view(torch.int32), first.scales.view(torch.int32))),
        ):
            if any(not torch.equal(one, other) for other in others):
                return failed("results-differ", f"two calls on the same x give other {name}")
        return None

    def _described(self, x: Tensor, pair: Pair, wrong: Tensor) -> dict[str, object]:
        """Where a wrong result is wrong, and the fault of the catalogue that gives every bit of it."""
        found = dict(vars(locate(wrong)))
        named = name_fault(self.case, x, pair)
        return found if named is None else {**found, "fault": named.name, "finding": named.sentence}


@dataclass(frozen=True)
class _Codes:
    """The codes of a case, as memory for them is soiled."""

    case: QuantCase

    @property
    def m(self) -> int:
        return self.case.rows

    @property
    def n(self) -> int:
        return self.case.columns

    @property
    def out_dtype(self) -> torch.dtype:
        return torch.float8_e5m2  # as wide as any, and torch can fill it with NaN


def _kept(returned: object, handed: Handed) -> str | None:
    """How one of the results lies in the memory of x, or None."""
    results = [one for one in returned if isinstance(one, Tensor)] if isinstance(returned, tuple | list) else []
    in_memory = [one for one in results if one.layout == torch.strided and not one.is_meta and one.numel()]
    owners = [handed.owner_of(one) for one in in_memory]
    return next((f"a result lies in the memory of {owner}" for owner in owners if owner), None)
