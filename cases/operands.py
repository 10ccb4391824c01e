"""From a case to its input bytes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import torch
from torch import Tensor

from cases.case import Case
from cases.fill import FILLS
from cases.stream import Stream


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
    return Operands(*tensors, digest_of(*tensors))


def digest_of(*tensors: Tensor) -> str:
    """16 hex digits over dtype, shape and logical bytes of ``tensors``."""
    state = hashlib.blake2b(digest_size=8)
    for tensor in tensors:
        state.update(f"{tensor.dtype}{tuple(tensor.shape)}".encode())
        state.update(tensor.detach().contiguous().cpu().view(-1).view(torch.uint8).numpy().data)
    return state.hexdigest()
