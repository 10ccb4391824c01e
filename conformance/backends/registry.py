"""Finding backends: built in by name, anyone's by ``package.module:attribute`` or entry point."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from conformance.backends.names import check_names, target_of
from conformance.backends.protocol import Backend
from conformance.errors import UsageError, unknown


def load_backend(spec: str) -> Backend:
    """The backend ``spec`` names. Raises UsageError with a sentence that says what to write instead."""
    check_names((spec,))
    target = target_of(spec)
    assert target is not None
    return Backend(_instance(_resolve(target), spec), spec=spec)


def load_backends(specs: tuple[str, ...]) -> tuple[Backend, ...]:
    """All of ``specs``. Raises UsageError when two of them answer to the same name."""
    backends = tuple(load_backend(spec) for spec in dict.fromkeys(specs))
    by_name: dict[str, str] = {}
    for backend in backends:
        if backend.name in by_name:
            first = by_name[backend.name]
            raise UsageError(f"backends {first!r} and {backend.spec!r} are both named {backend.name!r}: rename one")
        by_name[backend.name] = backend.spec
    return backends


def _resolve(target: str) -> Any:
    module_name, _, attribute = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # a user's module may raise anything while it is imported
        raise UsageError(
            f"backend {target!r}: module {module_name!r} cannot be imported ({type(error).__name__}: {error})"
        ) from error
    if not hasattr(module, attribute):
        raise unknown(f"attribute of module {module_name}", attribute, [n for n in vars(module) if n[0] != "_"])
    return getattr(module, attribute)


def _instance(found: Any, spec: str) -> Any:
    if not inspect.isclass(found):
        return found
    try:
        return found()
    except Exception as error:  # a user's constructor may raise anything
        raise UsageError(
            f"backend {spec!r}: {found.__name__}() must work without arguments ({type(error).__name__}: {error})"
        ) from error
