"""Functions that give, or raise, what no kernel should: each may do so at once, or from a later call on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import Tensor

from reference import native_w8a8_block_matmul

Spoil = Callable[[Tensor], object]


class Wrapped(Tensor):
    """A subclass, whose operators are code of its own."""

    @classmethod
    def __torch_function__(cls, *given: Any, **more: Any) -> NoReturn:
        raise ZeroDivisionError("the judge asked a subclass")


class Unwilling(BaseException):
    """Neither an Exception nor legible."""

    def __str__(self) -> str:
        raise KeyError("no text")


def freed(out: Tensor) -> Tensor:
    out = out.clone()
    out.untyped_storage().resize_(0)
    return out


def faked(out: Tensor) -> Tensor:
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode().from_tensor(out)


def raising(error: BaseException | type[BaseException]) -> Spoil:
    def spoil(out: Tensor) -> NoReturn:
        raise error

    return spoil


def asserting(out: Tensor) -> Tensor:
    assert out.is_cuda
    return out


def warned(out: Tensor) -> Tensor:
    warnings.warn("slow path", UserWarning, stacklevel=1)
    return out


def by_way_of_meta(out: Tensor) -> Tensor:
    return out.to("meta").to("cpu")


def in_inference_mode(out: Tensor) -> Tensor:
    with torch.inference_mode():
        return out.clone()


RETURNED: dict[str, tuple[str, Spoil]] = {
    "none": ("nothing-returned", lambda out: None),
    "tuple": ("not-a-tensor", lambda out: (out, out)),
    "array": ("not-a-tensor", lambda out: out.double().numpy()),
    "number": ("not-a-tensor", lambda out: 1.0),
    "type": ("not-a-tensor", lambda out: Tensor),
    "shape": ("wrong-shape", lambda out: out.t()),
    "scalar": ("wrong-shape", lambda out: out.sum()),
    "batch": ("wrong-shape", lambda out: out[None]),
    "double": ("wrong-dtype", lambda out: out.double()),
    "complex": ("wrong-dtype", lambda out: torch.complex(out.float(), out.float())),
    "conjugated": ("not-plain", lambda out: torch.complex(out.float(), out.float()).conj()),
    "bits": ("wrong-dtype", lambda out: out.view(torch.uint8)[:, : out.shape[1]]),
    "fp8": ("wrong-dtype", lambda out: out.to(torch.float8_e4m3fn)),
    "quantised": ("wrong-dtype", lambda out: torch.quantize_per_tensor(out.float(), 1.0, 0, torch.quint8)),
    "meta": ("wrong-device", lambda out: out.to("meta")),
    "coo": ("not-strided", lambda out: out.to_sparse()),
    "csr": ("not-strided", lambda out: out.to_sparse_csr()),
    "mkldnn": ("not-strided", lambda out: out.float().to_mkldnn()),
    "nested": ("not-strided", lambda out: torch.nested.nested_tensor([out])),
    "jagged": ("tensor-subclass", lambda out: torch.nested.nested_tensor([out], layout=torch.jagged)),
    "subclass": ("tensor-subclass", lambda out: out.as_subclass(Wrapped)),
    "fake": ("tensor-subclass", faked),
    "parameter": ("requires-grad", torch.nn.Parameter),
    "graph": ("requires-grad", lambda out: out.clone().requires_grad_() + 0),
    "negated": ("not-plain", lambda out: torch._neg_view(-out)),
    "freed": ("not-plain", freed),
    "expanded": ("elements-shared", lambda out: out[:1].expand_as(out)),
    "nan": ("wrong-values", lambda out: torch.full_like(out, torch.nan)),
}
RAISED: dict[str, Spoil] = {
    "exit": raising(SystemExit(3)),
    "interrupt": raising(KeyboardInterrupt),
    "generator": raising(GeneratorExit()),
    "unwilling": raising(Unwilling()),
    "assertion": asserting,
    "unavailable": lambda out: out.to("cuda" if not torch.cuda.is_available() else "xpu"),
    "private": lambda out: out.to("privateuseone"),
}
RIGHT: dict[str, Spoil] = {
    "warns": warned,
    "inference": in_inference_mode,
    "prints": lambda out: print("a kernel was here") or out,
    "frozen": lambda out: torch.nn.Parameter(out, requires_grad=False),
}


def odd(spoil: Spoil, *, after: int = 0) -> Any:
    """A right kernel whose results ``spoil`` takes over ``after`` so many calls."""
    calls = 0

    def kernel(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, out_dtype: torch.dtype) -> object:
        nonlocal calls
        out = native_w8a8_block_matmul(A, B, As, Bs, (128, 128), out_dtype)
        calls += 1
        return spoil(out) if calls > after else out

    return kernel
