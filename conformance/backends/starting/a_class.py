"""An FP8 matmul with block scales for `conformance` to judge: right as it stands, and slow. Put yours in its place."""

# Judge it:               conformance run --backend my_kernel.py --profile quick
# See one case closely:   conformance explain CASE --backend my_kernel.py
# Which arithmetic it is: conformance probe --backend my_kernel.py

from __future__ import annotations

import torch
from torch import Tensor

BLOCK = 128


class MyKernel:
    """What is judged. It is made once, without arguments."""

    name = "my-kernel"
    """What reports call it."""
    recipes = ("1x128-128x128",)
    """Which scales it takes; there are also 128x128-1x128, 1x128-1x128, tensorwise and rowwise."""

    def apply_block_scaled_mm(
        self,
        A: Tensor,
        B: Tensor,
        As: Tensor,
        Bs: Tensor,
        *,
        out_dtype: torch.dtype,
        recipe: str = "1x128-128x128",
    ) -> Tensor:
        """The product of A [M, K] and B [N, K] transposed, [M, N] in ``out_dtype``; both are FP8, row by row in memory.

        As [M, ceil(K/128)] has a float32 scale for every row and 128 of K, and lies column by column in memory. Bs
        [ceil(N/128), ceil(K/128)] has one for every 128 x 128 of B. Operands must be left as they are.
        """
        (m, k), n = A.shape, B.shape[0]
        blocks, tiles = -(-k // BLOCK), -(-n // BLOCK)
        if B.shape[1] != k or As.shape != (m, blocks) or Bs.shape != (tiles, blocks) or not A.is_floating_point():
            # Whatever is no such product has to be refused; any exception will do.
            raise ValueError(f"no block-scaled product: {[tuple(x.shape) for x in (A, B, As, Bs)]}")
        tile = torch.arange(n, device=B.device) // BLOCK
        total = torch.zeros((m, n), dtype=torch.float32, device=A.device)
        for block in range(blocks):
            lanes = slice(BLOCK * block, BLOCK * (block + 1))
            product = A[:, lanes].float() @ B[:, lanes].float().t()
            total += product * As[:, block, None] * Bs[tile, block]
        return total.to(out_dtype)

    # All of the following is optional. docs/backends.md says what each of it means, and what is owed without it.
    #
    # arithmetic = "sm90"  # a claim: every bit is held to it
    # capabilities = {
    #     "dtypes": ("e4m3fn", "bf16"),  # which problems there is a kernel for
    #     "divisible": {"n": 64, "k": 128},
    #     "determinism": True,  # and what it has beyond plain calls
    #     "strided_operands": False,
    # }
    #
    # def describe(self) -> dict[str, str]:
    #     return {"library": "1.0"}  # for the header of the report
    #
    # def is_supported(self, platform) -> tuple[bool, str | None]:
    #     return (True, None) if platform.kind == "cuda" else (False, "needs CUDA")
    #
    # def can_implement(self, problem) -> tuple[bool, str | None]:
    #     return (True, None) if problem.m != 3 else (False, "M is 3")  # what data cannot say
