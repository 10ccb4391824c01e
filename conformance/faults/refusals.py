"""Seeded faults: another recipe accepted, or refused badly."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from conformance.faults.kernel import Call, Family, Kernel, fault
from reference.blocks import DEFAULT_RECIPE

CONTRACT: Family = "platform and contract"


@fault(
    "accepts-any-recipe",
    family=CONTRACT,
    source="pytorch#193802",
    what="Every recipe is said to be implemented and computed as the default one, from the scales it finds.",
)
class _AcceptsAnyRecipe(Kernel):
    def can_implement(self, problem: Any) -> tuple[bool, str | None]:
        return True, None

    def check(self, call: Call, recipe: str) -> None:
        if recipe == DEFAULT_RECIPE:
            super().check(call, recipe)

    def row_scales(self, call: Call) -> Tensor:
        return call.As[call.rows().clamp(max=max(call.As.shape[0] - 1, 0))]


@fault(
    "refuses-after-writing",
    family=CONTRACT,
    source="vllm#40016",
    what="M that is not a multiple of 4 is refused, but after the A scales were doubled in place.",
)
class _RefusesAfterWriting(Kernel):
    def run(self, call: Call) -> Tensor:
        if call.m % 4:
            call.As.mul_(2)
            raise NotImplementedError(f"M must be a multiple of 4, got {call.m}: pad A and As with rows")
        return super().run(call)


@fault(
    "crashes-on-ragged-n",
    family=CONTRACT,
    source="cutlass#2905",
    what="N that is not a multiple of 16 is announced as supported and ends in an internal error.",
)
class _CrashesOnRaggedN(Kernel):
    def run(self, call: Call) -> Tensor:
        if call.n % 16:
            raise RuntimeError("Error Internal")
        return super().run(call)
