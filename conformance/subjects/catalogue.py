"""A catalogue of wrong subjects: each by name, and how it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Steps = TypeVar("Steps")


@dataclass(frozen=True)
class Entry(Generic[Steps]):
    """One way to do it: its ``name``, ``what`` it does, how to ``build`` it, and who met it, if anybody."""

    name: str
    what: str
    build: type[Steps]
    source: str = ""


@dataclass(frozen=True)
class Named:
    """The fault that gives every bit, and a sentence about it."""

    name: str
    sentence: str


def entered(
    catalogue: dict[str, Entry[Steps]], name: str, what: str, source: str = ""
) -> Callable[[type[Steps]], type[Steps]]:
    """Enter a class of steps into ``catalogue``."""

    def enter(build: type[Steps]) -> type[Steps]:
        catalogue[name] = Entry(name, what, build, source)
        return build

    return enter
