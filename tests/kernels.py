"""Small kernels to judge: right ones of other arithmetics, wrong ones of one fault each, and ones that misbehave."""

from __future__ import annotations

import torch
from torch import Tensor

from reference import native_w8a8_block_matmul


def scaled_blocks(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, sums: torch.dtype = torch.float32) -> list[Tensor]:
    """The scaled product of every K block, float32; summed inside the block in ``sums``."""
    a, b = A.to(sums), B.to(sums)
    columns = torch.arange(B.shape[0], device=B.device) // 128
    blocks = []
    for i in range(As.shape[1]):
        tile = slice(128 * i, 128 * (i + 1))
        blocks.append((a[:, tile] @ b[:, tile].t()).float() * (As[:, i : i + 1] * Bs[columns, i]))
    return blocks


class Reversed:
    """Right: float32, K blocks last to first."""

    name = "reversed"

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = ""
    ) -> Tensor:
        return sum(scaled_blocks(A, B, As, Bs)[::-1], torch.zeros(())).to(out_dtype)


class DequantiseFirst:
    """Right: float64, scales into the operands before one matmul."""

    name = "dequantise-first"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        k = A.shape[1]
        a = A.double() * As.double().repeat_interleave(128, 1)[:, :k]
        rows = torch.arange(B.shape[0], device=B.device) // 128
        b = B.double() * Bs.double()[rows].repeat_interleave(128, 1)[:, :k]
        return (a @ b.t()).float().to(out_dtype)


class NextScale:
    """Wrong: the last K block uses the B scale of the block before it."""

    name = "next-scale"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        scales = Bs.clone()
        if Bs.shape[1] > 1:
            scales[:, -1] = Bs[:, -2]
        return native_w8a8_block_matmul(A, B, As, scales, (128, 128), out_dtype)


class Truncating:
    """Wrong: bfloat16 results are cut and not rounded."""

    name = "truncating"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        full = native_w8a8_block_matmul(A, B, As, Bs, (128, 128), torch.float32)
        if out_dtype == torch.bfloat16:
            full = (full.view(torch.int32) & -65536).view(torch.float32)
        return full.to(out_dtype)


class Claims:
    """Right, but not of the arithmetic that it declares."""

    name = "claims-sm90"
    arithmetic = "sm90"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        return native_w8a8_block_matmul(A, B, As, Bs, (128, 128), out_dtype)


class _Misbehaving:
    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        out = native_w8a8_block_matmul(A, B, As, Bs, (128, 128), out_dtype)
        return self.spoil(out, A, B, As, Bs)

    def spoil(self, out: Tensor, *operands: Tensor) -> Tensor:
        raise NotImplementedError


class Raises(_Misbehaving):
    name = "raises"

    def spoil(self, out: Tensor, *operands: Tensor) -> Tensor:
        raise RuntimeError("no tile for this shape")


class ReturnsNothing(_Misbehaving):
    name = "returns-nothing"

    def spoil(self, out: Tensor, *operands: Tensor) -> Tensor:
        return None  # type: ignore[return-value]


class WrongShape(_Misbehaving):
    name = "wrong-shape"

    def spoil(self, out: Tensor, *operands: Tensor) -> Tensor:
        return out.t()


class WrongDtype(_Misbehaving):
    name = "wrong-dtype"

    def spoil(self, out: Tensor, *operands: Tensor) -> Tensor:
        return out.double()


class NotANumber(_Misbehaving):
    name = "not-a-number"

    def spoil(self, out: Tensor, *operands: Tensor) -> Tensor:
        out[-1, -1] = torch.nan
        return out


class WritesOperand(_Misbehaving):
    name = "writes-operand"

    def spoil(self, out: Tensor, *operands: Tensor) -> Tensor:
        operands[2][0, 0] += 1
        return out


class WritesPastOperand(_Misbehaving):
    name = "writes-past-operand"

    def spoil(self, out: Tensor, *operands: Tensor) -> Tensor:
        scales = operands[3]
        past = torch.as_strided(scales, (1,), (1,), scales.storage_offset() + scales.numel())
        past += 1
        return out


class Unsupported:
    """Declares that it supports nothing."""

    name = "unsupported"

    def is_supported(self, platform: object) -> tuple[bool, str]:
        return False, "needs an accelerator that is not here."

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        raise AssertionError("must not be called")


class VagueSupport(Unsupported):
    name = "vague-support"

    def is_supported(self, platform: object) -> bool:  # type: ignore[override]
        return False


class RaisingSupport(Unsupported):
    name = "raising-support"

    def can_implement(self, problem: object) -> tuple[bool, str]:
        raise KeyError("tile")


class WordyDescription(Unsupported):
    name = "wordy-description"

    def describe(self) -> str:
        return "a kernel"


class Nameless:
    def apply_block_scaled_mm(self) -> None: ...


class Methodless:
    name = "methodless"


class NeedsArguments:
    name = "needs-arguments"

    def __init__(self, device: str) -> None:
        self.device = device


not_a_backend = 3
