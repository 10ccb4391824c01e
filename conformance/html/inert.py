"""What comes out of a report is data: no control character, no direction mark and no line break reaches a page."""

from __future__ import annotations

from typing import Any

from conformance.diff.tables import plain


def inert(value: Any) -> Any:
    """A JSON ``value`` with every text in it made `plain`, also names. Markup is escaped where it is shown."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {inert(name): inert(member) for name, member in value.items()}
    return [inert(member) for member in value] if isinstance(value, list | tuple) else value
