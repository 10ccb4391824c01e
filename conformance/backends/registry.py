"""Finding backends: built in by name, anyone's by entry point, ``package.module:attribute`` or file."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from conformance.backends.importing import find
from conformance.backends.names import names, place_of
from conformance.backends.protocol import Backend
from conformance.backends.subjects import made, subject_of
from conformance.errors import UsageError, unknown

SPELLINGS = ("package.module:attribute", "path/to/kernel.py:attribute")


def load_backend(spec: str) -> Backend:
    """The backend ``spec`` names. Raises UsageError with a sentence that says what to write instead."""
    place = place_of(spec)
    if place is None:
        files = [f"{spec}.py"] if spec and Path(f"{spec}.py").is_file() else []
        raise unknown("backend", spec, [*names(), *files, *SPELLINGS])
    found, name = find(place, spec)
    # An entry point has a name that somebody chose; of a file that was named alone, reports say what was found in it.
    subject = subject_of(found, spec=spec, name=name if place.is_typed else spec)
    return Backend(subject, spec=spec if place.attribute else f"{spec}:{name}")


def load_object(spec: str, noun: str) -> Any:
    """What a built-in's or a user's ``spec`` names, as a ``noun``; of a class what it makes. Raises UsageError."""
    place = place_of(spec)
    if place is None or not place.attribute:
        hint = f"{spec}:NAME" if place else "package.module:attribute or path/to/file.py:attribute"
        raise UsageError(f"{noun} {spec!r} names no function: write {hint}")
    try:
        found, _ = find(place, spec)
        return made(found, spec) if inspect.isclass(found) else found
    except UsageError as error:
        raise UsageError(str(error).replace("backend", noun, 1)) from error.__cause__


def load_backends(specs: tuple[str, ...]) -> tuple[Backend, ...]:
    """All of ``specs``. Raises UsageError when two of them answer to the same name."""
    backends = tuple(load_backend(spec) for spec in dict.fromkeys(specs))
    by_name: dict[str, str] = {}
    for backend in backends:
        if backend.name in by_name:
            first = by_name[backend.name]
            raise UsageError(
                f"backends {first!r} and {backend.spec!r} are both named {backend.name!r}: "
                "rename one, with an attribute `name`"
            )
        by_name[backend.name] = backend.spec
    return backends
