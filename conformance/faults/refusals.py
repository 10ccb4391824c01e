"""Seeded faults: accepted what must be refused, or refused badly."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from conformance.faults.kernel import Call, Family, Kernel, fault
from reference.blocks import DEFAULT_RECIPE

CONTRACT: Family = "platform and contract"


@fault(
    "accepts-b-scale-per-row",
    family=CONTRACT,
    source="TileOPs#2040",
    what="B scales with too many rows, one per column of the result, are accepted and the leading ones read.",
)
class _AcceptsBScalePerRow(Kernel):
    def check(self, call: Call, recipe: str) -> None:
        leading = Call(call.A, call.B, call.As, call.Bs[: call.nb], call.out_dtype)
        super().check(leading, recipe)


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
    "accepts-integer-scales",
    family=CONTRACT,
    source="DeepGEMM#417",
    what="Scales of another dtype are accepted: 32 bit integers are reinterpreted as float32, others are cast.",
)
class _AcceptsIntegerScales(Kernel):
    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = DEFAULT_RECIPE
    ) -> Tensor:
        """The call, with scales of any dtype."""
        As, Bs = (s.view(torch.float32) if s.dtype == torch.int32 else s.float() for s in (As, Bs))
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype, recipe=recipe)


@fault(
    "accepts-unequal-k",
    family=CONTRACT,
    source="vllm#28637",
    what="K is taken from A alone: a B with longer rows is accepted and its further lanes are ignored.",
)
class _AcceptsUnequalK(Kernel):
    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = DEFAULT_RECIPE
    ) -> Tensor:
        """The call, with B cut to the K of A."""
        B, Bs = B[:, : A.shape[1]], Bs[:, : As.shape[1]]
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype, recipe=recipe)


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
