"""Ranges of versions, as packaging reads them."""

from __future__ import annotations

from functools import cache

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from conformance.errors import UsageError


def release(text: str) -> str:
    """The version of torch that somebody names. Raises UsageError where it is none."""
    try:
        return str(Version(text))
    except InvalidVersion:
        raise UsageError(f"a version of torch is wanted, such as 2.13.0, got {text!r}") from None


@cache
def in_range(version: str, specifiers: str) -> bool:
    """Whether ``version`` lies in ``specifiers``; local parts (+cu130) are ignored, an unreadable version is not in."""
    if not specifiers:
        return True
    try:
        return SpecifierSet(specifiers).contains(Version(version).base_version, prereleases=True)
    except InvalidVersion:
        return False
