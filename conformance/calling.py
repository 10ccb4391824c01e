"""One call of a kernel: operands laid out, memory soiled, the kernel watched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cases import Problem
from conformance.backends.protocol import Backend
from conformance.foreign import attempt
from conformance.phases import during
from conformance.presentation import Handed, Presented
from conformance.received import received
from conformance.soiling import Resulting, soiled


@dataclass(frozen=True)
class Outcome:
    """What a call did: it returned something or raised, and it may have changed or kept memory that is not its own.

    ``unused`` says how a given `out` is not what was returned, or is None. A kernel that returns None has returned it.
    """

    returned: object = None
    raised: BaseException | None = None
    damage: str | None = None
    unused: str | None = None


def call(backend: Backend, presented: Presented, problem: Problem) -> Outcome:
    """Hand presented operands to the kernel and see what it does to them."""
    return watch(lambda: backend.apply(presented.tensors, problem, out=presented.out), presented, problem)


def watch(action: Callable[[], object], presented: Handed, problem: Resulting) -> Outcome:
    """See what ``action``, one call of a kernel or many, returns or raises and does to presented operands."""
    device = presented.tensors[0].device

    def act() -> object:
        came = action()
        synchronise(device)
        return came

    with soiled(problem, device), during("kernel"):
        done = attempt(act)
        if done.error is not None:
            synchronise(device)
    returned, unused = None, None
    if done.error is None:
        returned, unused = _settled(done.value, presented.out)
    return Outcome(returned, done.error, presented.damage() or _kept(returned, presented), unused)


def _settled(came: object, out: Tensor | None) -> tuple[object, str | None]:
    """What counts as returned, and how an ``out`` that was given is not what was returned."""
    if came is None and out is not None:
        return out, None
    returned = received(came)
    if out is None or not isinstance(returned, Tensor) or not out.numel():
        return returned, None
    if _is_same(returned, out):
        return out, None
    what = "another view of `out`" if share_memory(returned, (out,)) else "another tensor than `out`"
    state = "still holds nothing but the NaN it came with" if torch.isnan(out).all() else "was written to"
    return returned, f"{what} came back, and `out` {state}"


def _is_same(one: Tensor, other: Tensor) -> bool:
    def place(x: Tensor) -> tuple[object, ...]:
        return x.device, x.dtype, x.shape, x.stride(), x.data_ptr()

    return one is other or place(one) == place(other)


def _kept(returned: object, presented: Handed) -> str | None:
    if not isinstance(returned, Tensor) or not returned.numel():
        return None
    owner = presented.owner_of(returned)
    return f"the result lies in the memory of {owner}" if owner else None


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
