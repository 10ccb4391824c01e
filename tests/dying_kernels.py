"""Kernels that end, block or spoil the process that they run in, each where M is 5, and are right elsewhere."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import torch
from kernels import Reversed
from torch import Tensor

FATAL = 5


class Dying(Reversed):
    """Right where it does nothing worse."""

    def apply_block_scaled_mm(self, *operands: Tensor, out_dtype: torch.dtype, **more: Any) -> Any:
        if operands[0].shape[0] == FATAL:
            return self.die(*operands)
        return super().apply_block_scaled_mm(*operands, out_dtype=out_dtype, **more)

    def die(self, *operands: Tensor) -> Any:
        raise NotImplementedError


class Segfaults(Dying):
    name = "segfaults"

    def die(self, *operands: Tensor) -> Any:
        os.kill(os.getpid(), signal.SIGSEGV)


class Hangs(Dying):
    name = "hangs"

    def die(self, *operands: Tensor) -> Any:
        while True:
            time.sleep(1)
