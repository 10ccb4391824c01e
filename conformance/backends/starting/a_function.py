"""An FP8 matmul with block scales for `conformance` to judge: right as it stands, and slow. Put yours in its place."""

# Judge it:               conformance run --backend my_kernel.py --profile quick
# See one case closely:   conformance explain CASE --backend my_kernel.py
# Which arithmetic it is: conformance probe --backend my_kernel.py

from __future__ import annotations

import torch
from torch import Tensor

BLOCK = 128


def my_kernel(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype) -> Tensor:
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
# my_kernel.name = "my-kernel"                    # what reports call it; else the name of the function
# my_kernel.describe = lambda: {"library": "1.0"} # for the header of the report
# my_kernel.is_supported = lambda platform: (platform.kind == "cuda", "needs CUDA")
# my_kernel.capabilities = {
#     "dtypes": ("e4m3fn", "bf16"),               # which problems there is a kernel for
#     "divisible": {"n": 64, "k": 128},
#     "determinism": True,                        # and what it has beyond plain calls
#     "strided_operands": False,
# }
# my_kernel.can_implement = lambda problem: (problem.m != 3, "M is 3")  # what data cannot say
# my_kernel.arithmetic = "sm90"                   # a claim: every bit is held to it
#
# With a parameter `recipe` it is asked for the other block recipes, too, with `out=None` to write into a tensor given.
