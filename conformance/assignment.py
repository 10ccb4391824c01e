"""A case for a backend on a platform, and what is owed there."""

from __future__ import annotations

from dataclasses import dataclass

from cases import Case
from cases.recordings import recorded_libraries
from conformance.backends.padding import cublas_version
from conformance.backends.protocol import Backend
from conformance.capabilities.asking import declined_problem, declined_scenario
from conformance.capabilities.table import ZERO_SIZES
from conformance.contract import Absent, Compute, Declined, Promise, Refuse, RightOrRefused, promise_of
from conformance.contract.rules import promise_of_rule
from conformance.planned import PlannedCase
from conformance.probe import Platform
from conformance.shards.share import Work, cost_of
from conformance.tiers import Claim, Judgement
from conformance.verdict import CaseRecord
from reference import SM90

REFUSED = 0.2
"""How long a refusal takes, beside a small product: measured for the emulated SM90 on two CPU cores."""


@dataclass(frozen=True)
class Assignment(PlannedCase):
    """A case for a backend on a platform, and what is owed there."""

    case: Case
    backend: Backend

    @classmethod
    def of(cls, case: Case, backend: Backend, platform: Platform) -> Assignment:
        """The assignment with its promise: the contract's for torch's own APIs, the backend's word for others."""
        return cls(case, backend, platform, _promise(case, backend, platform))

    @property
    def work(self) -> Work:
        """Itself as a piece of the plan. A refusal takes a fraction of a small product, a large one its multiples."""
        cost = cost_of(self.case.macs) if self.computes else REFUSED
        return Work((self.backend.name, self.case.id), self.case.inputs, cost)

    @property
    def claim(self) -> Claim | None:
        """The arithmetic to hold results to: the backend's own, or SM90 where torch is expected to show it.

        None where one scale covers all of K: an arithmetic says how K blocks are promoted, and there are none.
        """
        if self.case.problem.has_whole_scales:
            return None
        if self.backend.arithmetic is not None:
            return Claim(self.backend.arithmetic, "bound" if self.backend.is_model else "declared")
        if self.backend.api and self.platform.path == "sm90":
            known = (self.platform.arch, cublas_version()) in recorded_libraries()
            return Claim(SM90, "declared" if known else "expected")
        return None

    @property
    def computes(self) -> bool:
        """Whether a product through the scales asked for may come, so that there is something to repeat."""
        return isinstance(self.promise, Compute | RightOrRefused) and not self.is_detour

    @property
    def is_detour(self) -> bool:
        """Whether the call is taken for another recipe, so that its product says nothing of block scales."""
        return isinstance(self.promise, Compute | RightOrRefused) and bool(self.promise.via)

    @property
    def is_of_interest(self) -> bool:
        """Whether a product that comes shows that the kernel computes with the scales asked for.

        A call that is taken for another recipe does not, nor one in which something is spoiled: K = 0 gives zeros. What
        a kernel says that it does not have is no part of what it computes.
        """
        return not self.is_detour and self.case.scenario.kind != "rule" and not self.declined

    @property
    def declined(self) -> Declined | None:
        """What the kernel says against it, be it asked for it all the same."""
        promise = self.promise
        return promise if isinstance(promise, Declined) else getattr(promise, "declined", None)

    @property
    def repeats_bits(self) -> bool:
        """Whether the bits of a result belong into a digest.

        CPU libraries cut a sum over all of K in shares for their threads, whose number changes what is rounded
        (measured: `torch._scaled_mm` of torch 2.13.0 with one thread and with two).
        """
        shared = self.case.problem.has_whole_scales and self.platform.kind == "cpu" and self.case.tier != "exact"
        return self.backend.deterministic and not shared

    def record(self, judgement: Judgement, **more: object) -> CaseRecord:
        """The record of ``judgement``, with the recipe of the product and what the kernel has declined beforehand."""
        declined = " ".join(self.declined.by) if self.declined else ""
        return super().record(judgement, recipe=self.case.problem.recipe, declined=declined, **more)


def _promise(case: Case, backend: Backend, platform: Platform) -> Promise:
    if case.scenario.kind == "rule":
        return _of_rule(case, backend, platform)
    if case.problem.recipe not in backend.recipes:
        return Absent(f"{backend.name}: {case.problem.recipe} is none of its recipes, {', '.join(backend.recipes)}.")
    # Torch's own APIs are held to the contract, whatever they say of the platform; of others that is the first word.
    supported, reason = (True, None) if backend.api else backend.is_supported(platform)
    # Asked in any case, so that a mistake in the answer is found on every machine.
    declined = declined_problem(case.problem, backend)
    if not supported:
        return Absent(f"{backend.name}: {reason}")
    if declined is not None:
        return declined
    plain = (
        promise_of(backend.api, platform, case.problem)
        if backend.api
        else Compute(may_decline=not backend.announces_problems)
    )
    return _in_scenario(plain, case, backend, platform)


def _in_scenario(plain: Promise, case: Case, backend: Backend, platform: Platform) -> Promise:
    """What remains of the promise of a plain call where more than that is asked for."""
    scenario, problem = case.scenario, case.problem
    if scenario.kind == "malformed" and not isinstance(plain, Absent):
        return _of_malformed(plain, case, backend)
    if not isinstance(plain, Compute):
        # Whether an empty product is refused too is nowhere promised: the CPU's v2 refuses every other one.
        return RightOrRefused() if problem.m == 0 and isinstance(plain, Refuse) else plain
    if scenario.needs_gpu and platform.kind == "cpu":
        return Absent(f"{scenario.prefix} needs a GPU, and the device is a CPU")
    declined = declined_scenario(scenario, backend)
    if declined is not None:
        return declined
    undeclared = scenario.capability and backend.capabilities.get(scenario.capability) is None
    unannounced = not problem.is_aligned and (bool(backend.api) or not backend.announces(problem))
    empty = problem.m == 0 and not backend.capabilities.get(ZERO_SIZES)
    open_question = (undeclared and not scenario.beside_plain) or unannounced or empty
    return RightOrRefused(plain.via) if open_question else plain


def _of_rule(case: Case, backend: Backend, platform: Platform) -> Promise:
    """What a spoiled raw call is owed: the contract's word, and none of a kernel's own."""
    if not backend.api:
        return Absent(f"{case.scenario.prefix} is about calls of torch's own APIs, and {backend.name} is none")
    return promise_of_rule(case.scenario.name, backend.api, platform, case.problem)


def _of_malformed(plain: Promise, case: Case, backend: Backend) -> Promise:
    """What malformed operands are owed: any refusal, or the one sense that they have."""
    declined = declined_scenario(case.scenario, backend)
    if declined is not None:
        return declined
    return Refuse() if case.scenario.meaningless or isinstance(plain, Refuse) else RightOrRefused()
