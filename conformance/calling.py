"""One call of a kernel: operands laid out, memory soiled, the kernel watched."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from cases import Problem
from conformance.backends.protocol import Backend
from conformance.foreign import attempt
from conformance.presentation import Presented
from conformance.received import received
from conformance.soiling import soiled


@dataclass(frozen=True)
class Outcome:
    """What a call did: it returned something or raised, and it may have changed or kept memory that is not its own.

    ``unused`` says how a given `out` is not what was returned, or is None. A kernel that returns None has returned it.
    """

    returned: object = None
    raised: BaseException | None = None
    damage: str | None = None
    unused: str | None = None


def first_line(error: BaseException) -> str:
    """What ``error`` says, as far as a sentence has room for it; where it says nothing, the line that raised it."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else _line_of(error)


def _line_of(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or not frames[-1].line:
        return "(no text)"
    return f"(no text) {Path(frames[-1].filename).name}:{frames[-1].lineno}: {frames[-1].line[:160]}"


def error_line(error: BaseException) -> str:
    """The class of ``error`` and what it says, in one line."""
    return f"{type(error).__name__}: {first_line(error)}"


def call(backend: Backend, presented: Presented, problem: Problem) -> Outcome:
    """Hand presented operands to the kernel and see what it does to them."""
    return watch(lambda: backend.apply(presented.tensors, problem, out=presented.out), presented, problem)


def watch(action: Callable[[], object], presented: Presented, problem: Problem) -> Outcome:
    """See what ``action``, one call of a kernel or many, returns or raises and does to presented operands."""
    device = presented.tensors[0].device

    def act() -> object:
        came = action()
        synchronise(device)
        return came

    with soiled(problem, device):
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


def _kept(returned: object, presented: Presented) -> str | None:
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
