"""What subjects other than kernels have in common: a name, a description, and options that are found by signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from conformance.backends.protocol import NAME
from conformance.errors import UsageError
from conformance.subjects.kinds import Kind


class Subject:
    """An object or a function under test. Raises UsageError where it has no usable name."""

    kind: Kind

    def __init__(self, subject: Any, *, spec: str) -> None:
        self.subject = subject
        self.spec = spec
        self.name = self._checked_name()
        self.is_model = bool(getattr(subject, "is_model", False))

    def _checked_name(self) -> str:
        name = getattr(self.subject, "name", None) or self.spec.partition(":")[2].rpartition(".")[2]
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise UsageError(
                f"{self.kind.noun} {self.spec!r} needs an attribute `name` of letters, digits and . _ + -, got {name!r}"
            )
        return name

    def describe(self) -> dict[str, str]:
        """What the subject says of itself, as text."""
        describe = getattr(self.subject, "describe", None)
        try:
            said = describe() if callable(describe) else {}
        except Exception as error:  # a user's method may raise anything
            raise UsageError(
                f"{self.kind.noun} {self.name!r}: describe fails ({type(error).__name__}: {error})"
            ) from error
        if not isinstance(said, dict):
            raise UsageError(f"{self.kind.noun} {self.name!r}: describe() must return a dict of strings, got {said!r}")
        return {str(k): str(v) for k, v in said.items()}


def parameters_of(function: Callable[..., Any]) -> frozenset[str] | None:
    """Names that ``function`` takes; None where it takes any, or where nobody can say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(p.name for p in parameters)


def lacking(function: Callable[..., Any], *names: str) -> str | None:
    """The first of the parameters ``names`` that ``function`` does not take, or None."""
    known = parameters_of(function)
    return None if known is None else next((name for name in names if name not in known), None)
