"""From a case to its input bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import torch
from torch import Tensor

from cases.case import Case
from cases.fill import FILLS, TAGGED, Values
from cases.fill.tags import alias_of
from cases.stream import Stream
from reference.exactness import why_not_exact


@dataclass(frozen=True)
class Operands:
    """A [M,K] and B [N,K] in FP8, As and Bs in float32, all contiguous, and the digest of their bytes."""

    A: Tensor
    B: Tensor
    As: Tensor
    Bs: Tensor
    digest: str

    @property
    def tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The four tensors in the order that every kernel takes them."""
        return self.A, self.B, self.As, self.Bs


def build_operands(case: Case, *, seed: int = 0, device: torch.device | str = "cpu") -> Operands:
    """The operands of ``case`` under suite ``seed``: the same bytes on every device and version of torch."""
    stream = Stream(f"{case.inputs}/{seed}", torch.device(device))
    tensors = FILLS[case.family.name](case, stream)
    if case.scenario.shares_scales:
        a, b, sa, sb = tensors
        tensors = (a, b, sa[:1].expand_as(sa).contiguous(), sb[:1].expand_as(sb).contiguous())
    if case.tier == "exact":
        _prove(case, tensors)
    return Operands(*tensors, digest_of(*tensors))


def _prove(case: Case, tensors: Values) -> None:
    """Raise AssertionError unless every legal kernel gives the exact result, and no wrong index gives the scales."""
    reason = why_not_exact(*tensors, recipe=case.problem.recipe)
    if reason:
        raise AssertionError(f"{case.id} is not exact: {reason}")
    if case.family.name not in TAGGED or case.scenario.shares_scales:
        return
    for name, scales in zip(("As", "Bs"), tensors[2:], strict=True):
        alias = alias_of(scales) if scales.numel() else None
        if alias:
            raise AssertionError(f"{case.id}: {alias} gives the scales {name} back")


def digest_of(*tensors: Tensor) -> str:
    """16 hex digits over dtype, shape and logical bytes of ``tensors``."""
    state = hashlib.blake2b(digest_size=8)
    for tensor in tensors:
        state.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
        # Strided anew: along an axis of one element a contiguous tensor may have any stride, which bytes may not.
        dense = tensor.detach().contiguous().cpu().as_strided((tensor.numel(),), (1,))
        state.update(dense.view(torch.uint8).numpy().data)
    return state.hexdigest()
