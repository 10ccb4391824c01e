"""What every kind of id has in common: one spelling, and a case behind it that can be built."""

from __future__ import annotations

from typing import Protocol, TypeVar


class Spelled(Protocol):
    """A case, as far as its id is concerned."""

    @property
    def id(self) -> str:
        """The one id of the case."""

    def why_not(self) -> str | None:
        """Why it cannot be built, or None."""


C = TypeVar("C", bound=Spelled)
LARGEST = 1 << 40
"""Sizes and seeds go up to here: no machine holds a tensor of as many rows."""


def checked(case: C, text: str) -> C:
    """``case``, unless its id is not ``text`` to the letter, or it cannot be built: ValueError. No case has two ids."""
    if case.id != text:
        raise ValueError(f"{text!r} is no case id; did you mean {case.id}?")
    reason = case.why_not()
    if reason:
        raise ValueError(f"{text!r} cannot be built: {reason}")
    return case


def numbers_in(text: str, *digits: str) -> tuple[int, ...]:
    """The sizes or seeds ``digits`` of the id ``text``. Raises ValueError for one that is beyond all sense."""
    if any(len(each) > len(str(LARGEST)) or int(each) > LARGEST for each in digits):
        raise ValueError(f"{text!r} names a number above 2^40; sizes and seeds go up to there")
    return tuple(map(int, digits))


def check_choices(text: str, *parts: tuple[str, str, tuple[str, ...]]) -> None:
    """Raise ValueError for the first of ``parts`` (what it is, value, choices) of the id ``text`` that is none."""
    for what, value, choices in parts:
        if value not in choices:
            raise ValueError(f"{text!r} names an unknown {what}; choose one of {', '.join(choices)}")
