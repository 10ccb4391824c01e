"""What subjects other than kernels have in common: a name, a description, and options that are found by signature."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.backends.asking import Asked
from conformance.backends.convention import signature_of
from conformance.backends.protocol import NAME
from conformance.errors import UsageError
from conformance.foreign import shortly
from conformance.subjects.kinds import Kind


class Subject:
    """An object or a function under test. Raises UsageError where it has no usable name."""

    kind: Kind

    def __init__(self, subject: Any, *, spec: str) -> None:
        self.subject = subject
        self.spec = spec
        self._asked = Asked(subject, spec, self.kind.noun)
        self.name = self._checked_name()
        self.is_model = bool(self._asked.read("is_model"))

    def _checked_name(self) -> str:
        name = self._asked.read("name") or self.spec.rpartition(":")[2].rpartition(".")[2]
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise UsageError(
                f"{self.kind.noun} {self.spec!r} needs an attribute `name` of letters, digits and . _ + -, "
                f"got {shortly(name)}"
            )
        return name

    def describe(self) -> dict[str, str]:
        """What the subject says of itself, as text."""
        return self._asked.describe()


def lacking(function: Callable[..., Any], *names: str) -> str | None:
    """The first of the parameters ``names`` that ``function`` does not take, or None: also where nobody can say."""
    signature = signature_of(function)
    if signature is None or any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        return None
    return next((name for name in names if name not in signature.parameters), None)
