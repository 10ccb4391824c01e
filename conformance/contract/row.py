"""One line of the capability table: where it applies, what is promised there, how we know, and who says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cases import Problem
from cases.problem import BLOCK_RECIPES
from conformance.contract.promises import Promise
from conformance.probe import Platform
from conformance.versions import in_range

Api = Literal["v1", "v2"]
APIS: dict[Api, str] = {"v1": "torch._scaled_mm", "v2": "torch.nn.functional.scaled_mm"}
"""Torch's two ways to ask for a scaled product."""
Evidence = Literal["measured", "read", "derived", "assumed"]
EVIDENCE: dict[Evidence, str] = {
    "measured": "run by us, with the version and hardware that the source names",
    "read": "read in source, in a released wheel or in a report by somebody who ran it",
    "derived": "follows from what was read, and nobody ran it",
    "assumed": "neither: a guess that the first run there will settle",
}


@dataclass(frozen=True)
class Condition:
    """A condition on a problem, and how it is said in words."""

    words: str
    holds: Callable[[Problem], bool]


ANY = Condition("", lambda _: True)
ONE_SCALE_EACH = Condition(
    "M = 1, N ≤ 128 and K ≤ 128", lambda problem: problem.m == 1 and problem.k_blocks == 1 and problem.n_blocks == 1
)
ONE_COLUMN = Condition("N = 1 and K ≤ 128", lambda problem: problem.n == 1 and problem.k_blocks == 1)
NO_WHOLE_FOUR = Condition("ceil(K/128) is no multiple of 4", lambda problem: problem.k_blocks % 4 != 0)


@dataclass(frozen=True)
class Row:
    """A promise of ``api`` on platforms of ``kind``, where ``archs``, version ranges and a condition hold.

    No ``archs`` stands for all of them; ``torch`` and ``runtime`` (CUDA or ROCm) are PEP 440 specifiers.
    """

    api: Api
    kind: str
    promise: Promise
    evidence: Evidence
    source: str
    archs: tuple[str, ...] = ()
    torch: str = ""
    runtime: str = ""
    problems: Condition = ANY
    recipes: tuple[str, ...] = BLOCK_RECIPES

    def applies(self, api: str, platform: Platform, problem: Problem) -> bool:
        """Whether this line speaks of ``problem`` through ``api`` on ``platform``."""
        return (
            (self.api, self.kind) == (api, platform.kind)
            and problem.recipe in self.recipes
            and (not self.archs or platform.arch in self.archs)
            and in_range(platform.torch_version, self.torch)
            and in_range(platform.runtime, self.runtime)
            and self.problems.holds(problem)
        )
