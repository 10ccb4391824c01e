"""Kernels under which a session can be ended at a chosen moment, that note their calls, or that end their process."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import torch
from kernels import Reversed
from torch import Tensor


class Lingers(Reversed):
    """Takes its time, so that whoever watches the report can act between two cases; refuses without its header."""

    name = "lingers"

    def apply_block_scaled_mm(self, *operands: Tensor, out_dtype: torch.dtype, **more: Any) -> Tensor:
        with open(os.environ["WATCHED_REPORT"]) as report:
            assert report.readline().startswith('{"kind": "header"')
        time.sleep(0.3)
        return super().apply_block_scaled_mm(*operands, out_dtype=out_dtype, **more)


class KillsAndLingers(Lingers):
    """Ends its process where M is 3, as a kernel does that crashes."""

    name = "kills-and-lingers"

    def apply_block_scaled_mm(self, *operands: Tensor, out_dtype: torch.dtype, **more: Any) -> Tensor:
        if operands[0].shape[0] == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().apply_block_scaled_mm(*operands, out_dtype=out_dtype, **more)


class Counted(Reversed):
    """Notes the M of every product that it is asked for."""

    name = "counted"

    def apply_block_scaled_mm(self, *operands: Tensor, out_dtype: torch.dtype, **more: Any) -> Tensor:
        with open(os.environ["COUNTED_CALLS"], "a") as calls:
            calls.write(f"{operands[0].shape[0]}\n")
        return super().apply_block_scaled_mm(*operands, out_dtype=out_dtype, **more)


class CountedAndLingers(Counted, Lingers):
    """Takes its time, too."""

    name = "counted-and-lingers"
