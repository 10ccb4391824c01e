"""Memory around a call: operands that every kernel finds as they were drawn, results that begin as the peer says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from conformance.faults.kernel import Kernel
from conformance.peers.record import Sample


@dataclass(frozen=True)
class Held:
    """A sample, and copies of its operands that kernels are called on: the same addresses for every kernel."""

    drawn: Sample
    copied: Sample

    @classmethod
    def of(cls, sample: Sample) -> Held:
        """Hold ``sample``, whose operands are never handed to a kernel."""
        A, B, As, Bs = (_copy(x) for x in (sample.A, sample.B, sample.As, sample.Bs))
        return cls(sample, replace(sample, A=A, B=B, As=As, Bs=Bs))

    def restore(self) -> None:
        """Give the copies, and the padding in their storage, the bytes that were drawn."""
        for name in ("A", "B", "As", "Bs"):
            old, copy = getattr(self.drawn, name), getattr(self.copied, name)
            copy.untyped_storage().copy_(old.untyped_storage())

    def call(self, kernel: Kernel) -> Tensor:
        """One call on the copies as they are."""
        x = self.copied
        return kernel.apply_block_scaled_mm(x.A, x.B, x.As, x.Bs, out_dtype=x.out_dtype)


def _copy(x: Tensor) -> Tensor:
    """The same matrix in the same layout, in a storage of its own."""
    storage = torch.empty(0, dtype=torch.uint8, device=x.device).set_(x.untyped_storage()).clone().untyped_storage()
    return torch.empty(0, dtype=x.dtype, device=x.device).set_(storage, x.storage_offset(), x.shape, x.stride())


class Fresh(TorchFunctionMode):
    """While active, what `torch.empty` returns holds ``value``: what is never written is then no accident."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call ``func``, and fill what it leaves unwritten."""
        result = func(*args, **(kwargs or {}))
        return result.fill_(self.value) if func is torch.empty and result.is_floating_point() else result
