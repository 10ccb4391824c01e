"""What is global in a process, and whether a call leaves it as it was."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from conformance.scenarios.called import Called
from conformance.tiers import failed
from conformance.trial import Finding, Trial

UNREADABLE = "unreadable"
"""What a setting is while torch refuses to read it, since its two interfaces contradict each other on it."""


@dataclass(frozen=True)
class Setting:
    """Something global: how it is read, and how it is put back."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]

    def value(self) -> Any:
        """Its value now, or `UNREADABLE`."""
        try:
            return self.read()
        except RuntimeError:
            return UNREADABLE

    def change(self, old: Any) -> str:
        """How the value is no longer the ``old`` one, in words, or nothing."""
        now = self.value()
        if isinstance(now, Tensor):
            return "" if torch.equal(now, old) else self.name
        said = self.name if isinstance(now, tuple) else f"{self.name} from {old} to {now}"
        return "" if now == old else said


Surroundings = list[tuple[Setting, Any]]
"""Settings with the values that they had."""


def surroundings(device: torch.device) -> Surroundings:
    """Everything that is watched on ``device``, as it is now."""
    return [(setting, setting.value()) for setting in _settings(device)]


def put_back(before: Surroundings) -> None:
    """Give every setting that has changed since the value that it had."""
    # Twice, since some settings write others.
    for setting, old in before * 2:
        if setting.change(old) and old is not UNREADABLE:
            setting.write(old)


def watch_surroundings(trial: Trial) -> Finding:
    """Call, compare everything global with what it was, and put it back, so that no later case is poisoned."""
    before = surroundings(trial.device)
    outcome = trial.call()
    said = ", ".join(sentence for setting, old in before if (sentence := setting.change(old)))
    put_back(before)
    if said:
        return Finding.of(failed("surroundings-changed", f"the call changed {said}"), outcome)
    called = Called.of(trial, outcome)
    return Finding.of(called.judgement, called.outcome)


def _settings(device: torch.device) -> list[Setting]:
    """Everything that is watched on ``device``, in the order in which it is put back."""
    everywhere = [
        Setting("the default dtype", torch.get_default_dtype, torch.set_default_dtype),
        Setting("the default device", torch.get_default_device, _set_default_device),
        Setting("the number of threads", torch.get_num_threads, torch.set_num_threads),
        Setting("grad mode", torch.is_grad_enabled, torch.set_grad_enabled),
        Setting("deterministic algorithms", torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode),
        Setting("the flushing of subnormals", _flushes_subnormals, torch.set_flush_denormal),
        Setting("the random state of Python", random.getstate, random.setstate),
        Setting("the random state of the CPU", torch.get_rng_state, torch.set_rng_state),
        Setting("float32 matmul precision", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
        _autocast("cpu"),
    ]
    flags = [_flag(f"torch.backends.{name}") for name in FLAGS]
    return [*everywhere, *filter(None, flags), *([] if device.type == "cpu" else _settings_of(device))]


FLAGS = (
    "fp32_precision",
    "cudnn.fp32_precision",
    "cuda.matmul.allow_tf32",
    "cuda.matmul.fp32_precision",
    "cuda.matmul.allow_bf16_reduced_precision_reduction",
    "cuda.matmul.allow_fp16_reduced_precision_reduction",
    "cuda.matmul.allow_fp16_accumulation",
    "cudnn.enabled",
    "cudnn.benchmark",
    "cudnn.deterministic",
    "cudnn.allow_tf32",
    "mkldnn.matmul.fp32_precision",
)
"""Attributes below torch.backends, of those that this torch has. Those that are written last decide."""


def _flag(path: str) -> Setting | None:
    module, name = operator.attrgetter(path.rpartition(".")[0].removeprefix("torch."))(torch), path.rpartition(".")[2]
    setting = Setting(path, partial(getattr, module, name), partial(setattr, module, name))
    try:
        setting.value()
    except AttributeError:
        return None
    return setting


def _autocast(kind: str) -> Setting:
    return Setting(
        f"autocast on {kind}", partial(torch.is_autocast_enabled, kind), partial(torch.set_autocast_enabled, kind)
    )


def _settings_of(device: torch.device) -> list[Setting]:
    """What accelerators have beside the rest, as far as this kind of them does."""
    module: Any = torch.get_device_module(device)
    found = [_autocast(device.type)]
    if hasattr(module, "get_rng_state"):
        restore = partial(_set_rng_state, module, device)
        found.append(Setting("the random state of the device", lambda: module.get_rng_state(device), restore))
    if hasattr(module, "set_device"):
        found.append(Setting("the current device", module.current_device, module.set_device))
    if hasattr(module, "set_stream"):
        found.append(Setting("the current stream", lambda: module.current_stream(device), module.set_stream))
    if device.type == "cuda":
        library = torch.backends.cuda.preferred_blas_library
        found.append(Setting("the preferred BLAS library", library, library))
    return found


def _set_default_device(device: torch.device) -> None:
    torch.set_default_device(None if device.type == "cpu" else device)


def _set_rng_state(module: Any, device: torch.device, state: Tensor) -> None:
    module.set_rng_state(state, device)


def _flushes_subnormals() -> bool:
    return not bool((torch.full((1,), 1e-40, dtype=torch.float32, device="cpu") * 0.5).item())
