"""What the suite says of upstream's choice: whether it reaches the torch kernel where it should and nowhere else, and
what then becomes of problems that the kernel accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from cases import Problem
from cases.problem import BLOCK_RECIPES
from conformance.backends.torch_v1 import TorchV1
from conformance.contract import Refuse, promise_of
from conformance.contract.refusals import SCALING_V1
from conformance.deviations.entry import Machine
from conformance.deviations.ledger import deviation_of
from conformance.probe import Platform
from conformance.upstream.candidates import TORCH, Candidate, candidates_for
from conformance.upstream.selection import NoKernelFitsError, select

OFFERED = ("cuda", "xpu")
"""Kinds of platform whose list has the torch kernel; not read from that list, so that a wrong one is found."""
SERVED = ("sm90", "xpu")
"""Paths on which upstream's gate lets the torch kernel through: of CUDA one architecture, not all from it on."""


def reached_by(
    platform: Platform,
    problem: Problem,
    *,
    candidates: Sequence[Candidate] | None = None,
    backend: str | None = None,
    disabled: Collection[str] = (),
) -> list[str]:
    """What is wrong with how ``candidates`` lead to the torch kernel, one sentence each; empty where nothing is.

    The torch kernel must be a candidate on CUDA and XPU alone and be tried after all others, so that it is never
    chosen where another fits. It must be chosen for nothing but its recipe on SM90 and XPU, and not be passed over
    there. ``candidates`` are by default those of `candidates_for`; ``backend`` and ``disabled`` are those of `select`.
    """
    tried = candidates_for(platform) if candidates is None else candidates
    try:
        selection = select(tried, platform, problem, backend=backend, disabled=disabled)
        chosen, passed_over = selection.chosen, selection.passed_over
    except NoKernelFitsError as nothing:
        chosen, passed_over = "", nothing.passed_over
    refused = TORCH.name in passed_over and TORCH.name not in disabled
    return [*_misplaced(tried, platform), *_misjudged(platform, problem, chosen=chosen == TORCH.name, refused=refused)]


def _misplaced(tried: Sequence[Candidate], platform: Platform) -> Iterator[str]:
    names = [candidate.name for candidate in tried]
    if TORCH.name in names and platform.kind not in OFFERED:
        yield f"{TORCH.name} is a candidate on {platform.kind}, where upstream has none of torch."
    if TORCH.name in names[:-1]:
        yield f"{TORCH.name} is tried before {names[-1]}, and would be chosen where both fit."


def _misjudged(platform: Platform, problem: Problem, *, chosen: bool, refused: bool) -> Iterator[str]:
    serves = platform.path in SERVED and problem.recipe == BLOCK_RECIPES[0]
    if chosen and not serves:
        yield f"{TORCH.name} is chosen for {problem.recipe} on {platform.kind} {platform.arch}, which it cannot serve."
    if refused and serves:
        yield f"{TORCH.name} is passed over for {problem.recipe} on {platform.kind} {platform.arch}, which it serves."


@dataclass(frozen=True)
class Gap:
    """Problems that upstream's predicates let through, ``what`` torch makes of them on these ``kinds``, and the source.

    Only what the capability table leaves open: it describes platforms, recipes and numbers of K blocks.
    """

    kinds: tuple[str, ...]
    applies: Callable[[Problem], bool]
    what: str
    source: str


GAPS = (
    Gap(
        ("cuda",),
        lambda problem: problem.m == 0 and problem.k_blocks > 1,
        f"A without rows is refused, because the stride of its scales fits no recipe: {SCALING_V1}",
        "ScaledBlas.cpp, is_blockwise_1x128_scaling; seen on an H200",
    ),
    Gap(
        ("cuda", "rocm", "xpu"),
        lambda problem: not problem.is_aligned,
        "the call is refused, because N and K have to be multiples of 16",
        "ScaledBlas.cpp of CUDA and of XPU; seen on an H200",
    ),
    Gap(
        ("cuda",),
        lambda problem: problem.a == problem.b == "e5m2",
        "the call is refused, because torch multiplies no two matrices of float8_e5m2",
        "ScaledBlas.cpp, _scaled_mm_out_cuda",
    ),
)
"""What is refused first stands first."""


def accepted_but_wrong(platform: Platform, problem: Problem) -> str | None:
    """What becomes of a ``problem`` that upstream's torch kernel accepts but torch refuses or computes wrongly.

    One sentence, or None where the kernel does not accept it or nothing wrong is known.
    """
    if TORCH.reason_against(platform, problem) is not None:
        return None
    promise = promise_of(TorchV1.api, platform, problem)
    if isinstance(promise, Refuse):
        return f"Accepted, but torch refuses the call on {platform.kind} {platform.arch}: {promise}."
    for gap in GAPS:
        if platform.kind in gap.kinds and gap.applies(problem):
            return f"Accepted, but {gap.what} ({gap.source})."
    known = deviation_of(problem, TorchV1.name, Machine(platform))
    return f"Accepted, but {known.observed}: {known.reason} ({known.link})." if known else None
