"""What CUDA kernels do to the process and the device that they run on, each where M is 5; right elsewhere."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from reference import native_w8a8_block_matmul

FATAL = 5


class Dying:
    """Right where it does nothing worse first."""

    name = "dying"

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, **_: Any
    ) -> Tensor:
        if A.shape[0] == FATAL:
            self.harm(A.device)
        return native_w8a8_block_matmul(A, B, As, Bs, (128, 128), out_dtype)

    def harm(self, device: torch.device) -> None:
        """Do it."""
        raise NotImplementedError


class IllegalAddress(Dying):
    """Writes where there is no memory: the context of the process is lost, and says so when it is next asked."""

    name = "illegal-address"

    def harm(self, device: torch.device) -> None:
        import triton_stray

        triton_stray.write_far_away(device)


class DeviceAssert(Dying):
    """An index out of range, found out on the device long after the call has returned."""

    name = "device-assert"

    def harm(self, device: torch.device) -> None:
        torch.zeros(4, device=device)[torch.tensor([1 << 20], device=device)]


class Spins(Dying):
    """A kernel that does not come to an end."""

    name = "spins"

    def harm(self, device: torch.device) -> None:
        for _ in range(64):  # some devices take no more than 32 bits of cycles at once
            torch.cuda._sleep(1 << 40)


class LacksMemory(Dying):
    """Takes all memory piece by piece, until there is none left."""

    name = "lacks-memory"

    def harm(self, device: torch.device) -> None:
        pieces = []
        while True:
            pieces.append(torch.empty(1 << 32, dtype=torch.uint8, device=device))
