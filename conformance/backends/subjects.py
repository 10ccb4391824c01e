"""What is judged where something was named: an object, what a class makes, or a function in the place of an object."""

from __future__ import annotations

import inspect
import re
from types import ModuleType
from typing import Any

from cases.problem import BLOCK_RECIPES
from conformance.backends.convention import MisfitError, convention_of
from conformance.errors import UsageError
from conformance.foreign import attempt, error_line, shortly

KERNEL = "apply_block_scaled_mm"
WRITE_FUNCTION = "write f(A, B, As, Bs, out_dtype)"
WRITE_METHOD = f"write {KERNEL}(self, A, B, As, Bs, *, out_dtype, recipe='{BLOCK_RECIPES[0]}')"
DECLARED = ("describe", "is_supported", "can_implement", "recipes", "arithmetic", "capabilities", "accepts_out")
"""What a function may have as attributes, as objects do."""


class Function:
    """A callable as a backend. It has one recipe unless it asks which, and an `out` where it has such a parameter.

    Raises MisfitError where it cannot be called with operands and a dtype.
    """

    def __init__(self, kernel: Any, name: str) -> None:
        self.apply_block_scaled_mm = kernel
        self.convention = convention_of(kernel)
        said = getattr(kernel, "name", None)
        self.name = said if isinstance(said, str) else as_name(name)
        self.recipes = BLOCK_RECIPES if self.convention.takes_recipe else BLOCK_RECIPES[:1]
        self.accepts_out = self.convention.takes_out
        for attribute in DECLARED:
            if hasattr(kernel, attribute):
                setattr(self, attribute, getattr(kernel, attribute))


def as_name(name: str) -> str:
    """The name of a backend for a function of this one: ``my_kernel`` is called ``my-kernel``."""
    return re.sub(r"(?:[^\w.+]|_)+", "-", name).strip("-")


def subject_of(found: Any, *, spec: str, name: str) -> Any:
    """The subject that ``found`` is, which was asked for as ``spec`` and goes by ``name``.

    Raises UsageError where it is none, with a sentence that says what to write.
    """
    if isinstance(found, ModuleType):
        raise UsageError(f"backend {spec!r} is a module: name a kernel in it behind a colon")
    thing = made(found, f"backend {spec!r}") if inspect.isclass(found) else found
    if attempt(lambda: getattr(thing, KERNEL, None)).value is not None:
        return thing
    if callable(thing):
        return _function(thing, spec, name)
    if thing is found:
        what = f"is {type(found).__qualname__!r} {shortly(found, 60)}, and no kernel"
    else:
        what = f"has no method {KERNEL}"
    raise UsageError(f"backend {spec!r} {what}: {WRITE_METHOD if thing is not found else WRITE_FUNCTION}")


def made(cls: type, named: str) -> Any:
    """What ``cls()`` makes. Raises UsageError where that wants arguments, or fails."""
    done = attempt(cls)
    if done.error is not None:
        said = error_line(done.error)
        raise UsageError(f"{named}: {cls.__name__}() must work without arguments ({said})") from done.error
    return done.value


def _function(kernel: Any, spec: str, name: str) -> Function:
    done = attempt(lambda: Function(kernel, name))
    if isinstance(done.error, MisfitError):
        raise UsageError(f"backend {spec!r} {done.error}; {WRITE_FUNCTION}") from None
    if done.error is not None:
        said = error_line(done.error)
        raise UsageError(f"backend {spec!r}: its attributes cannot be read ({said})") from done.error
    assert done.value is not None
    return done.value
