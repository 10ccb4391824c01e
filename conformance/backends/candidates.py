"""The one kernel in a file of which nobody said which one is meant."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from conformance.backends.convention import MisfitError, convention_of
from conformance.backends.subjects import KERNEL, WRITE_FUNCTION
from conformance.errors import UsageError
from conformance.foreign import attempt


def the_kernel_in(module: ModuleType, spec: str) -> str:
    """The name of what the file defines itself, under a public name, that can be called as kernels are.

    Raises UsageError where there is none, or more than one.
    """
    own = {name: thing for name, thing in vars(module).items() if _is_own(name, thing, module)}
    complaints = {name: why_not(thing) for name, thing in own.items()}
    kernels = [name for name, complaint in complaints.items() if complaint is None]
    if len(kernels) == 1:
        return kernels[0]
    if kernels:
        choices = ", ".join(f"{spec}:{name}" for name in kernels)
        raise UsageError(f"backend {spec!r} has {len(kernels)} kernels: choose one of {choices}")
    near = "; ".join(f"{name} {complaint}" for name, complaint in list(complaints.items())[:4])
    raise UsageError(f"backend {spec!r} has no kernel{f' ({near})' if near else ''}: {WRITE_FUNCTION}, or name one")


def _is_own(name: str, thing: Any, module: ModuleType) -> bool:
    """Whether it is a public function, class or object that this file makes; what it imports is somebody else's."""
    if name.startswith("_") or not (callable(thing) or _has_method(thing)):
        return False
    home = thing if inspect.isclass(thing) or hasattr(thing, "__name__") else type(thing)
    return getattr(home, "__module__", None) == module.__name__


def _has_method(thing: Any) -> bool:
    return callable(attempt(lambda: getattr(thing, KERNEL, None)).value)


def why_not(thing: Any) -> str | None:
    """Why ``thing`` cannot be called as kernels are, going on from its name, or None."""
    if inspect.isclass(thing) and not _has_method(thing):
        thing = getattr(thing, "__call__", None) if "__call__" in vars(thing) else None  # noqa: B004
        return "is a class without the method apply_block_scaled_mm" if thing is None else None
    if _has_method(thing):
        return None
    done = attempt(lambda: convention_of(thing))
    return str(done.error) if isinstance(done.error, MisfitError) else None
