"""Seeded faults: right on real operands, something else on fake ones.

They stand for operators whose fake kernel was written apart from the real one. Compiled code asserts what the fake one
said, and so that the check of fake operands is the only one that shows them, they behave while a compiler traces.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import is_fake

from conformance.faults.kernel import Call, Family, Kernel, fault

PLATFORM: Family = "platform and contract"


def _is_asked_for_a_form(x: Tensor) -> bool:
    """Whether ``x`` has no contents and no compiler traces."""
    return not torch.compiler.is_compiling() and is_fake(x)


@fault(
    "fake-is-column-major",
    family=PLATFORM,
    source="prime-rl#3567",
    what="Its fake result has the strides of its transpose; the eager one is row-major.",
)
class _FakeIsColumnMajor(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total)
        return out.t().contiguous().t() if _is_asked_for_a_form(call.A) else out


@fault(
    "fake-is-float32",
    family=PLATFORM,
    source="vllm-gguf-plugin#82",
    what="Its fake result is float32, whatever dtype is asked for.",
)
class _FakeIsFloat32(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        return total if _is_asked_for_a_form(call.A) else super().store(call, total)
