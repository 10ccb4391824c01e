"""One call of a kernel: operands laid out, memory soiled, the kernel watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cases import Problem
from conformance.backends.protocol import Backend
from conformance.presentation import Presented


@dataclass(frozen=True)
class Outcome:
    """What a call did: it returned something or raised, and it may have changed or kept memory that is not its own."""

    returned: object = None
    raised: BaseException | None = None
    damage: str | None = None


def call(backend: Backend, presented: Presented, problem: Problem) -> Outcome:
    """Hand presented operands to the kernel and see what it does to them."""
    returned, raised = None, None
    device = presented.tensors[0].device
    soil(problem, device)
    try:
        returned = backend.apply(presented.tensors, problem, out=presented.out)
        synchronise(device)
    except Exception as error:  # a kernel under test may raise anything
        raised = error
        synchronise(device)
    return Outcome(returned, raised, presented.damage() or _kept(returned, presented))


def _kept(returned: object, presented: Presented) -> str | None:
    if not isinstance(returned, Tensor) or not returned.numel() or returned.device.type == "meta":
        return None
    owner = presented.owner_of(returned)
    return f"the result lies in the memory of {owner}" if owner else None


def soil(problem: Problem, device: torch.device) -> None:
    """Leave NaN in the memory that an allocator will hand out next, so that elements never written show."""
    for dtype in (problem.out_dtype, torch.float32):
        torch.full((max(problem.m, 1), problem.n), torch.nan, dtype=dtype, device=device)


def share_memory(x: Tensor, others: Sequence[Tensor]) -> bool:
    """Whether the storage of ``x`` is that of one of the ``others``."""
    mine = x.untyped_storage().data_ptr()
    return any(mine == other.untyped_storage().data_ptr() for other in others)


def synchronise(device: torch.device) -> None:
    """Wait for ``device``, so that a kernel's asynchronous error surfaces in the case that caused it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "xpu":
        torch.xpu.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
