"""Checks that kill no seeded fault alone and are kept: what each protects, and a fault that would need it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kept:
    """Why a check stays: what it ``protects``, and ``needs``, a fault that no other check would show."""

    protects: str
    needs: str


KEPT: dict[str, Kept] = {}
"""By check."""
