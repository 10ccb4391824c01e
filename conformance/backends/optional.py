"""A function of a package that need not be installed: whether it is there, why not, and the function itself.

Asking whether a package is there imports nothing; whether its function is, can only be found out by importing it.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any


@dataclass(frozen=True)
class Package:
    """A package by the name that it is imported by; ``distribution`` has its version, ``install`` gets it."""

    name: str
    distribution: str
    install: str

    @property
    def is_installed(self) -> bool:
        """Whether it could be imported, as far as that can be seen from outside."""
        try:
            return find_spec(self.name) is not None
        except (ImportError, ValueError):  # a finder, or a module that was put there by hand
            return False

    @property
    def version(self) -> str:
        """The installed version, empty where nobody knows it."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return ""

    @property
    def spelled(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}".rstrip()


class UnavailableError(NotImplementedError):
    """A function of an optional package that is not to be had; the message says why and what to do."""


@dataclass(frozen=True)
class OptionalFunction:
    """A function of ``package``, which had it in different ``places`` (``module:attribute``), the newest first."""

    package: Package
    places: tuple[str, ...]

    @cached_property
    def missing(self) -> str | None:
        """Why it cannot be here, without importing anything; None where it may be."""
        if self.package.is_installed:
            return None
        return f"{self.package.name} is not installed: {self.package.install}"

    @cached_property
    def unavailable(self) -> str | None:
        """Why it is not here, found out by importing the package; None where it is."""
        return self._found if isinstance(self._found, str) else None

    def load(self) -> Any:
        """The function. Raises UnavailableError with the reason where it is not to be had."""
        if isinstance(self._found, str):
            raise UnavailableError(self._found)
        return self._found

    @cached_property
    def _found(self) -> Any:
        """The function, or why there is none; looked for once, since an import that fails is as slow as another."""
        if self.missing:
            return self.missing
        for place in self.places:
            module, _, attribute = place.partition(":")
            try:
                # What a package says while it is imported is no result of ours.
                with redirect_stdout(sys.stderr):
                    function = getattr(import_module(module), attribute, None)
            except ModuleNotFoundError as error:
                if self._is_own(error.name):
                    continue  # of another version
                return self._broken(error)
            except Exception as error:  # a package may fail in any way while it is imported
                return self._broken(error)
            if function is not None:
                return function
        places = " nor ".join(place.replace(":", ".") for place in self.places)
        return f"{self.package.spelled} does not have {places}: another version is needed, {self.package.install}"

    def _is_own(self, module: str | None) -> bool:
        return (module or "").split(".")[0] == self.package.name

    def _broken(self, error: Exception) -> str:
        said = " ".join(str(error).split())[:200]
        return f"{self.package.spelled} is installed and cannot be imported ({type(error).__name__}: {said})"
