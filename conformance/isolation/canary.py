"""A product whose bits are known, computed after every case: no verdict of a process is believed that gets it wrong."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

SIZE = 16
# Small integers: every sum is exact in any float format and order, in bfloat16 and TF32, too.
LEFT = [[float((3 * row + column) % 5 - 2) for column in range(SIZE)] for row in range(SIZE)]
RIGHT = [[float((row + 2 * column) % 7 - 3) for column in range(SIZE)] for row in range(SIZE)]
PRODUCT = [
    [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*RIGHT, strict=True)] for row in LEFT
]


def ask_canary(device: torch.device) -> str | None:
    """What is wrong with this process or with ``device`` that a case may have left so, or None.

    A kernel that fails asynchronously poisons the context of its process: every later call raises, or gives anything.
    """
    import torch

    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
        left, right = (torch.tensor(x, dtype=torch.float32, device=device) for x in (LEFT, RIGHT))
        found = torch.mm(left, right).tolist()
    except Exception as error:  # whatever a poisoned process may raise
        said = (str(error).strip().splitlines() or ["no text"])[0][:200]
        return f"a small product on {device} raises {type(error).__name__}: {said}"
    if found == PRODUCT:
        return None
    wrong = sum(a != b for x, y in zip(found, PRODUCT, strict=False) for a, b in zip(x, y, strict=False))
    return f"{wrong} of {SIZE * SIZE} elements of a small product on {device} are wrong"
