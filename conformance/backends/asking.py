"""Asking somebody's object what it is and what it can: every attribute of it may be code that fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from conformance.errors import UsageError
from conformance.foreign import attempt, error_line, shortly

Answer = tuple[bool, str | None]
"""Yes, or no with the reason as a sentence."""
ABSENT = object()


class AnswerError(UsageError):
    """A backend does not answer what it is asked: before a run that is its author's mistake, in one its failure."""


@dataclass(frozen=True)
class Asked:
    """The ``subject``, a ``noun``, that was named as ``spec``. Raises AnswerError where code of the subject raises."""

    subject: Any
    spec: str
    noun: str = "backend"
    _known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def read(self, attribute: str, default: Any = None) -> Any:
        """An attribute, which may be a property; it is read once, as a plan asks thousands of times."""
        if attribute not in self._known:
            said = self._try(f"its {attribute} cannot be read", lambda: getattr(self.subject, attribute, ABSENT))
            self._known[attribute] = said
        found = self._known[attribute]
        return default if found is ABSENT else found

    def ask(self, method: str, *about: object) -> Any:
        """What an optional method returns, None where there is none."""
        asked = self.read(method)
        return None if asked is None else self._try(f"{method} fails", lambda: asked(*about))

    def answer(self, method: str, about: object) -> Answer:
        """Yes where there is no such method, else what it says. Raises AnswerError where that is no answer."""
        if self.read(method) is None:
            return True, None
        said = self.ask(method, about)
        if isinstance(said, tuple) and len(said) == 2 and isinstance(said[0], bool):
            return said[0], None if said[0] else self._try(f"{method} fails", lambda: _sentence(said[1]))
        raise AnswerError(
            f"{self.noun} {self.spec!r}: {method} must return (True, None) or (False, 'reason'), got {shortly(said)}"
        )

    def describe(self) -> dict[str, str]:
        """What the subject says of itself, as text."""
        said = self.ask("describe")
        if not isinstance(said, dict | None):
            raise AnswerError(
                f"{self.noun} {self.spec!r}: describe() must return a dict of strings, got {shortly(said)}"
            )
        told: dict[str, str] = self._try("describe fails", lambda: {str(k): str(v) for k, v in (said or {}).items()})
        return told

    def _try(self, what: str, action: Callable[[], Any]) -> Any:
        done = attempt(action)
        if done.error is not None:
            raise AnswerError(f"{self.noun} {self.spec!r}: {what} ({error_line(done.error)})") from done.error
        return done.value


def _sentence(reason: object) -> str:
    return " ".join(str(reason or "no reason given").split())
