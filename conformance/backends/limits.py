"""Where a kernel runs, and which formats it multiplies with each other, each refused in one sentence.

All else that a kernel takes it declares in data, as `capabilities`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from conformance.probe import Platform

if TYPE_CHECKING:
    from cases import Problem
    from conformance.backends.asking import Answer

Platforms = Mapping[str, tuple[str, ...]]
"""From kinds to architectures (none: all of them)."""
Pairs = tuple[tuple[str, str], ...]
"""Formats of A and B."""
TRITON_FP8 = ("sm89", "sm90", "sm100", "sm103", "sm120", "sm121")
"""NVIDIA GPUs for which Triton multiplies e4m3fn."""


def why_not_on(platform: Platform, platforms: Platforms) -> str | None:
    """Why ``platform`` does not do, or None."""
    architectures = platforms.get(platform.kind)
    if architectures is not None and (not architectures or platform.arch in architectures):
        return None
    return f"needs {_either([_spelled(kind, archs) for kind, archs in platforms.items()])}."


def answer_for_pair(problem: Problem, pairs: Pairs) -> Answer:
    """Whether the formats of ``problem`` are multiplied with each other."""
    if (problem.a, problem.b) in pairs:
        return True, None
    return False, f"multiplies {_either([' by '.join(pair) for pair in pairs])}."


def _spelled(kind: str, architectures: tuple[str, ...]) -> str:
    return f"{kind} ({', '.join(architectures)})" if architectures else kind


def _either(names: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
