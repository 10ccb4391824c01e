"""What comes out of a report is data: no control character, no direction mark and no line break reaches a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from conformance.terminal import plain

T = TypeVar("T")


def inert(value: Any) -> Any:
    """A JSON ``value`` with every text in it made `plain`, also names. Markup is escaped where it is shown."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {inert(name): inert(member) for name, member in value.items()}
    return [inert(member) for member in value] if isinstance(value, list | tuple) else value


def member(line: Mapping[str, Any], name: str, default: T) -> T:
    """The member ``name`` of a ``line`` if it is of the type of ``default``, which stands for any other.

    Readers check what a report must have; whatever else it has may be of any form, and harms no page.
    """
    value = line.get(name)
    return value if isinstance(value, type(default)) else default
