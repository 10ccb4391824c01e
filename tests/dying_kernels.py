"""Kernels that end, block or spoil the process that they run in, each where M is 5, and are right elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import deaths
import torch
from kernels import Reversed
from torch import Tensor

FATAL = 5


def doing(deed: Callable[[], None]) -> type[Reversed]:
    """A kernel that does ``deed`` where M is 5, and is right where it comes back from there."""

    class Dying(Reversed):
        name = deed.__name__.replace("_", "-")

        def apply_block_scaled_mm(self, *operands: Tensor, out_dtype: torch.dtype, **more: Any) -> Tensor:
            if operands[0].shape[0] == FATAL:
                deed()
            return super().apply_block_scaled_mm(*operands, out_dtype=out_dtype, **more)

    return Dying


def poison() -> None:
    """What an asynchronous failure does to a device: everything that comes after it raises, and not this call."""

    def poisoned(*_: object) -> Tensor:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    torch.mm = poisoned


def lose_the_device() -> None:
    """The same, where the suite's own code is the first to meet it."""
    poison()
    torch.Tensor.to = torch.mm  # type: ignore[method-assign, assignment]


def corrupt() -> None:
    """The same, but without a sound: products are wrong from now on."""
    right = torch.mm
    torch.mm = lambda a, b: right(a, b) + 1


Segfaults = doing(deaths.segfault)
Aborts = doing(deaths.abort)
LeavesWith0 = doing(deaths.leave_with_0)
LeavesWith3 = doing(deaths.leave_with_3)
Exits = doing(deaths.exit_by_exception)
KillsItself = doing(deaths.kill_itself)
InterruptsItself = doing(deaths.interrupt_itself)
Hangs = doing(deaths.hang)
HangsWithTheLock = doing(deaths.hang_with_the_lock)
HangsDeaf = doing(deaths.hang_deaf)
HangsUnwatched = doing(deaths.hang_unwatched)
LacksMemory = doing(deaths.run_out_of_memory)
LeavesAChild = doing(deaths.leave_a_child)
LeavesAChildAndDies = doing(deaths.leave_a_child_and_die)
GoesElsewhere = doing(deaths.go_elsewhere)
ClosesAllFiles = doing(deaths.close_all_files)
ClosesMostFiles = doing(deaths.close_most_files)
SetsAnAlarm = doing(deaths.set_an_alarm)
Poisons = doing(poison)
LosesTheDevice = doing(lose_the_device)
Corrupts = doing(corrupt)


class CrashesLater(doing(deaths.crash_later)):  # type: ignore[misc]
    """Takes its time elsewhere, so that other cases are at work when it crashes."""

    def apply_block_scaled_mm(self, *operands: Tensor, **more: Any) -> Tensor:
        if operands[0].shape[0] != FATAL:
            time.sleep(0.08)
        return super().apply_block_scaled_mm(*operands, **more)  # type: ignore[no-any-return]
