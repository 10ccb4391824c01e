"""How upstream chooses a kernel for a linear layer.

Source: vLLM 0.33.0, vllm/model_executor/kernels/linear/__init__.py, choose_scaled_mm_linear_kernel.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cases import Problem
from conformance.probe import Platform
from conformance.upstream.candidates import Candidate


@dataclass(frozen=True)
class Selection:
    """The name of the kernel that was ``chosen``, and the reason against each one that was tried before it."""

    chosen: str
    passed_over: Mapping[str, str]


class NoKernelFitsError(ValueError):
    """Nothing fits; ``passed_over`` has the reason against each kernel that was tried."""

    def __init__(self, passed_over: Mapping[str, str]) -> None:
        self.passed_over = passed_over
        reasons = [f"{name}: {reason}" for name, reason in passed_over.items()]
        super().__init__("\n".join(["no kernel fits this linear layer", *(reasons or ["there is none to try here"])]))


class NoKernelOfBackend(UserWarning):
    """The backend that was asked for has no kernel here, so that it does not restrict the choice."""


def select(
    candidates: Sequence[Candidate],
    platform: Platform,
    problem: Problem,
    *,
    force: Candidate | None = None,
    backend: str | None = None,
    disabled: Collection[str] = (),
) -> Selection:
    """The first of ``candidates`` that fits ``problem`` on ``platform``, as upstream finds it.

    ``force`` is tried before all others, need not be among them, and one that does not fit is passed over like any
    other; upstream logs that and leaves it out of its error. ``backend`` is a ``--linear-backend``. ``disabled`` names
    kernels that are never chosen, forced or not. Raises NoKernelFitsError; warns NoKernelOfBackend.
    """
    passed_over: dict[str, str] = {}
    for candidate in _in_turn(candidates, force, backend):
        disables = candidate.name in disabled
        reason = "disabled by its name." if disables else candidate.reason_against(platform, problem)
        if reason is None:
            return Selection(candidate.name, passed_over)
        passed_over[candidate.name] = reason
    raise NoKernelFitsError(passed_over)


def _in_turn(candidates: Sequence[Candidate], force: Candidate | None, backend: str | None) -> Iterator[Candidate]:
    if force is not None:
        yield force
    # Only reached where a forced kernel does not fit: upstream says nothing of the backend before.
    restricts = backend not in (None, "auto")
    named = [candidate for candidate in candidates if candidate.backend == backend] if restricts else candidates
    if restricts and not named:
        # Three frames up is the caller of `select`, past this generator.
        warnings.warn(f"no kernel of backend {backend!r} here: all are tried", NoKernelOfBackend, stacklevel=3)
    yield from named or candidates
