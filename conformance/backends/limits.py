"""What a kernel takes: platforms, formats, output dtypes and multiples, each refused in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.probe import Platform

if TYPE_CHECKING:
    from cases import Problem

TRITON_FP8 = ("sm89", "sm90", "sm100", "sm103", "sm120", "sm121")
"""NVIDIA GPUs for which Triton multiplies e4m3fn."""
E4M3 = ("e4m3fn", "e4m3fn")


@dataclass(frozen=True)
class Limits:
    """``platforms`` maps kinds to architectures (none: all of them), ``formats`` are those of A and B.

    M, N and K have to be multiples of ``rows``, ``columns`` and ``lanes``.
    """

    platforms: Mapping[str, tuple[str, ...]]
    formats: tuple[tuple[str, str], ...] = (E4M3,)
    outputs: tuple[str, ...] = ("bf16", "fp16", "fp32")
    rows: int = 1
    columns: int = 1
    lanes: int = 1

    def against_platform(self, platform: Platform) -> str | None:
        """Why ``platform`` does not do, or None."""
        architectures = self.platforms.get(platform.kind)
        if architectures is not None and (not architectures or platform.arch in architectures):
            return None
        return f"needs {_either([_spelled(kind, archs) for kind, archs in self.platforms.items()])}."

    def against_problem(self, problem: Problem) -> str | None:
        """Why ``problem`` does not do, or None."""
        if (problem.a, problem.b) not in self.formats:
            return f"multiplies {_either([' by '.join(pair) for pair in self.formats])}."
        if problem.out not in self.outputs:
            return f"writes {_either(self.outputs)}."
        sizes = (("M", problem.m, self.rows), ("N", problem.n, self.columns), ("K", problem.k, self.lanes))
        return next((f"{name} must be a multiple of {unit}." for name, size, unit in sizes if size % unit), None)


def _spelled(kind: str, architectures: tuple[str, ...]) -> str:
    return f"{kind} ({', '.join(architectures)})" if architectures else kind


def _either(names: tuple[str, ...] | list[str]) -> str:
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
