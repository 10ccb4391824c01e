"""Text that others wrote, made harmless for a terminal and for a line of a file."""

from __future__ import annotations


def plain(text: str) -> str:
    """``text`` on one line, without the control characters by which a report could write on the terminal."""
    return "".join(char if char.isprintable() else "�" for char in " ".join(text.split()))
