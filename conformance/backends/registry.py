"""Finding backends: built in by name, anyone's by entry point, ``package.module:attribute`` or file."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, Protocol

from conformance.backends.importing import find
from conformance.backends.names import Place, known_place
from conformance.backends.protocol import Backend
from conformance.backends.subjects import made, subject_of
from conformance.errors import UsageError


def load_backend(spec: str) -> Backend:
    """The backend ``spec`` names. Raises UsageError with a sentence that says what to write instead."""
    place = known_place(spec)
    found, name = find(place)
    # An entry point has a name that somebody chose; of a file that was named alone, reports say what was found in it.
    subject = subject_of(found, spec=spec, name=name if place.is_typed else spec)
    return Backend(subject, spec=spec if place.attribute else f"{spec}:{name}")


def load_object(place: Place) -> Any:
    """What stands at ``place``, be it no backend; of a class what it makes. Raises UsageError."""
    if not place.attribute:
        raise UsageError(f"{place.named} names no function: write {place.spec}:NAME")
    found, _ = find(place)
    return made(found, place.named) if inspect.isclass(found) else found


def load_backends(specs: tuple[str, ...]) -> tuple[Backend, ...]:
    """All of ``specs``. Raises UsageError when two of them answer to the same name."""
    backends = tuple(load_backend(spec) for spec in dict.fromkeys(specs))
    check_names(backends)
    return backends


class Named(Protocol):
    """What has a name and a spec."""

    name: str
    spec: str


def check_names(subjects: Iterable[Named]) -> None:
    """Raise UsageError where one name is that of two subjects: a report tells them apart by it."""
    by_name: dict[str, str] = {}
    for one in subjects:
        if one.name in by_name:
            raise UsageError(
                f"{by_name[one.name]!r} and {one.spec!r} are both named {one.name!r}: "
                "rename one, with an attribute `name`"
            )
        by_name[one.name] = one.spec
