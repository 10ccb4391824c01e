"""Kernels that are right when called eagerly, and something else on fake operands."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import ClassVar

import kernels
import torch
from kernels import Reversed
from torch import Tensor
from torch._subclasses.fake_tensor import is_fake


class OtherwiseFaked(Reversed):
    """Right, and right on fake operands: what is derived from it spoils the fake result."""

    name = "otherwise-faked"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        out = super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        return self.faked(out) if is_fake(A) else out

    def faked(self, out: Tensor) -> Tensor:
        return out


class OtherShape(OtherwiseFaked):
    def faked(self, out: Tensor) -> Tensor:
        return torch.cat([out, out])


class OtherDtype(OtherwiseFaked):
    def faked(self, out: Tensor) -> Tensor:
        return out.float()


class OtherStrides(OtherwiseFaked):
    def faked(self, out: Tensor) -> Tensor:
        return torch.empty_strided(out.shape, (1, out.shape[0]), dtype=out.dtype)


class OtherDevice(OtherwiseFaked):
    def faked(self, out: Tensor) -> Tensor:
        return out.to("meta")


class NoTensor(OtherwiseFaked):
    def faked(self, out: Tensor) -> Tensor:
        return None  # type: ignore[return-value]


class WrongAndOtherwiseFaked(kernels.NextScale):
    name = "wrong-and-otherwise-faked"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        out = super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        return out.float() if is_fake(A) else out


class AcceptsFaked(Reversed):
    """It refuses, and its fake kernel does not know that."""

    name = "accepts-faked"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        if not is_fake(A):
            raise NotImplementedError("no tile for this shape")
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)


class ReadsValues(Reversed):
    """Right; its Python looks at a scale, so that nothing can trace it."""

    name = "reads-values"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        As.flatten()[0].item()
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)


class OwesTracing(ReadsValues):
    name = "owes-tracing"
    capabilities: ClassVar[dict[str, bool]] = {"compile": True}


class ModelThatReadsValues(ReadsValues):
    name = "model-that-reads-values"
    is_model = True


class FollowsPointers(Reversed):
    """Right; it reads the first byte of A as a compiled engine does, by its address."""

    name = "follows-pointers"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        ctypes.string_at(A.data_ptr(), 1)
        return super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)


class Workspace(Reversed):
    """Right; it has a real workspace of its own, kept from the first call of a shape."""

    name = "workspace"
    capabilities: ClassVar[dict[str, bool]] = {"compile": True}

    def __init__(self) -> None:
        self.zeros: dict[torch.Size, Tensor] = {}

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        zeros = self.zeros.setdefault(As.shape, torch.zeros_like(As))
        return super().apply_block_scaled_mm(A, B, As + zeros, Bs, out_dtype=out_dtype)


def _with_addresses(graph: torch.fx.GraphModule, _: object) -> Callable[..., object]:
    """A compiler whose code needs the addresses of its operands, as all that leaves Python does."""

    def run(*operands: Tensor) -> object:
        for operand in operands:
            operand.data_ptr()
        return graph(*operands)

    return run


class CompiledInside(Reversed):
    """Right; it compiles itself."""

    name = "compiled-inside"
    capabilities: ClassVar[dict[str, bool]] = {"compile": True}

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        scaled = torch.compile(torch.mul, backend=_with_addresses, dynamic=False)(As, 1.0)
        return super().apply_block_scaled_mm(A, B, scaled, Bs, out_dtype=out_dtype)


class Padded(Reversed):
    """Right; its result is a part of a wider one, so that a copy of it has other strides."""

    name = "padded"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        out = super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        return torch.nn.functional.pad(out, (0, 8))[:, : B.shape[0]]
