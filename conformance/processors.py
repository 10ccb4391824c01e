"""Sharing the processors with the rest of the machine."""

from __future__ import annotations

import os
import sys


def wait_politely() -> None:
    """Let idle OpenMP threads sleep instead of spin, unless the user chose otherwise; before torch is imported.

    The bit model is a long row of short parallel loops. Spinning threads that lose their processor to another process
    hold all others up at the end of each loop: measured on 2 cores beside one busy process, eight times slower.
    """
    if "torch" not in sys.modules:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def share_among(workers: int) -> None:
    """Give this process one of ``workers`` shares of the processors: more threads than processors make all crawl."""
    import torch

    threads = max(1, torch.get_num_threads() // workers)
    torch.set_num_threads(threads)
    os.environ.setdefault("NUMBA_NUM_THREADS", str(threads))
