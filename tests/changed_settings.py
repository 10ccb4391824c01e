"""What a kernel may change that is global in a process, and kernels that do."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

import torch
from kernels import Reversed
from torch import Tensor

CUDA: Any = torch.cuda


@dataclass(frozen=True)
class Change:
    """How something global is changed and how that is said; and how a test reads it and puts it back."""

    said: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
    make: Callable[[], object]


def _to(value: Any, said: str, read: Callable[[], Any], write: Callable[[Any], object]) -> Change:
    return Change(said, read, write, partial(write, value))


def _autocast(kind: str) -> Change:
    write = partial(torch.set_autocast_enabled, kind)
    return _to(True, f"autocast on {kind} from False to True", partial(torch.is_autocast_enabled, kind), write)


def _flag(path: str, value: Any) -> Change:
    parent, _, name = f"backends.{path}".rpartition(".")
    module = attrgetter(parent)(torch)
    return _to(value, f"torch.backends.{path} from ", partial(getattr, module, name), partial(setattr, module, name))


def _default_device(device: Any) -> None:
    torch.set_default_device(None if str(device) == "cpu" else device)


def _flushes_subnormals() -> bool:
    return (torch.full((1,), 1e-40, dtype=torch.float32, device="cpu") * 0.5).item() == 0


def _one_thread_more() -> None:
    torch.set_num_threads(torch.get_num_threads() + 1)


_CPU_STATE = "the random state of the CPU", torch.get_rng_state, torch.set_rng_state
_DTYPE = "the default dtype from torch.float32 to torch.float64", torch.get_default_dtype, torch.set_default_dtype
_DEBUG_MODE = torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode
_PRECISION = torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
_THREADS = "the number of threads from ", torch.get_num_threads, torch.set_num_threads
_FLAGS: dict[str, Any] = {
    "fp32_precision": "tf32",
    "cudnn.fp32_precision": "tf32",
    "cuda.matmul.allow_tf32": True,
    "cuda.matmul.fp32_precision": "tf32",
    "cuda.matmul.allow_bf16_reduced_precision_reduction": False,
    "cuda.matmul.allow_fp16_reduced_precision_reduction": False,
    "cuda.matmul.allow_fp16_accumulation": True,
    "cudnn.enabled": False,
    "cudnn.benchmark": True,
    "cudnn.deterministic": True,
    "cudnn.allow_tf32": False,
    "mkldnn.matmul.fp32_precision": "bf16",
}
CHANGES = {
    "seed": Change(*_CPU_STATE, partial(torch.manual_seed, 7)),
    "draw": Change(*_CPU_STATE, partial(torch.rand, 3)),
    "draw-in-python": Change("the random state of Python", random.getstate, random.setstate, random.random),
    "default-dtype": _to(torch.float64, *_DTYPE),
    "default-device": _to("meta", "the default device from cpu to meta", torch.get_default_device, _default_device),
    "deterministic-or-warns": _to("warn", "deterministic algorithms from 0 to 1", *_DEBUG_MODE),
    "deterministic-or-raises": _to("error", "deterministic algorithms from 0 to 2", *_DEBUG_MODE),
    "threads": Change(*_THREADS, _one_thread_more),
    "grad": _to(False, "grad mode from True to False", torch.is_grad_enabled, torch.set_grad_enabled),
    "autocast": _autocast("cpu"),
    "precision": _to("medium", "float32 matmul precision from highest to medium", *_PRECISION),
    **{path: _flag(path, value) for path, value in _FLAGS.items()},
}
"""Everything that is watched on every device."""
if torch.set_flush_denormal(False):
    # Not every processor can.
    _SUBNORMALS = "the flushing of subnormals from False to True"
    CHANGES["subnormals"] = _to(True, _SUBNORMALS, _flushes_subnormals, torch.set_flush_denormal)

_CUDA_STATE = "the random state of the device", CUDA.get_rng_state, CUDA.set_rng_state
_STREAM = "the current stream from ", CUDA.current_stream, CUDA.set_stream
_LIBRARY = torch.backends.cuda.preferred_blas_library
CUDA_CHANGES = {
    "draw": Change(*_CUDA_STATE, lambda: torch.rand(3, device="cuda")),
    "stream": Change(*_STREAM, lambda: CUDA.set_stream(CUDA.Stream())),
    "library": _to("cublaslt", "the preferred BLAS library from ", _LIBRARY, _LIBRARY),
    "autocast": _autocast("cuda"),
}
"""What is watched on CUDA and ROCm beside that."""


class Changes:
    """A right product, and ``make`` on the way."""

    name = "changes-settings"

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        out = Reversed().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        self.make()
        return out


class ChangesAndRefuses(Changes):
    name = "changes-and-refuses"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        self.make()
        raise NotImplementedError("no tile for this shape")


class ChangesForItself:
    """Right: it has settings of its own while it computes, and puts the caller's back."""

    name = "changes-for-itself"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        with torch.random.fork_rng(), torch.no_grad(), torch.autocast(A.device.type, enabled=False):
            torch.manual_seed(7)
            return Reversed().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
