"""The kernels that upstream chooses between for block-scaled FP8 linear layers, in its order.

Source: vLLM 0.33.0, vllm/model_executor/kernels/linear/__init__.py, the lists of FP8 block kernels by platform and of
kernels by ``--linear-backend``. 0.28.0, the first release with the torch kernel, tried Triton ahead of Humming and had
one CPU kernel; the torch kernel was last in both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from cases import Problem
from conformance.backends.asking import Answer
from conformance.backends.torch_v1 import TorchV1
from conformance.errors import unknown
from conformance.probe import PATHS, Platform


@dataclass(frozen=True)
class Candidate:
    """A kernel under its class name upstream; ``backend`` is the ``--linear-backend`` that asks for it, if one does."""

    name: str
    backend: str | None
    is_supported: Callable[[Platform], Answer]
    can_implement: Callable[[Problem], Answer]
    source: str

    def reason_against(self, platform: Platform, problem: Problem) -> str | None:
        """Why it does not fit, or None where it does; the problem matters only where the platform is supported."""
        fits, reason = self.is_supported(platform)
        if fits:
            fits, reason = self.can_implement(problem)
        return None if fits else reason or "no reason given."


def _not_installed(_: Platform) -> Answer:
    return False, "not installed, unless the caller says otherwise."


def _triton_is_supported(platform: Platform) -> Answer:
    if platform.kind in ("cuda", "rocm", "xpu"):
        return True, None
    return False, "needs CUDA, ROCm or XPU."


def _every_problem(_: Problem) -> Answer:
    return True, None


def _by_caller(name: str, backend: str | None, module: str) -> Candidate:
    """A kernel whose predicates ask for packages and device features, so that only the caller can answer for it."""
    return Candidate(name, backend, _not_installed, _every_problem, f"vllm scaled_mm/{module}.py")


MARLIN = _by_caller("MarlinFP8ScaledMMLinearKernel", "marlin", "marlin")
HUMMING = _by_caller("HummingFP8ScaledMMLinearKernel", "humming", "humming")
# Upstream's predicate asks only for dynamic activation scales, and a problem here knows no others.
TRITON = Candidate(
    "TritonFp8BlockScaledMMKernel", "triton", _triton_is_supported, _every_problem, "vllm scaled_mm/triton.py"
)
TORCH = Candidate(
    "BlockWiseTorchFP8ScaledMMLinearKernel",
    "torch",
    TorchV1().is_supported,
    TorchV1().can_implement,
    "vllm scaled_mm/pytorch.py, vllm#49932, vllm#50826",
)

CANDIDATES: dict[str, tuple[Candidate, ...]] = {
    "cuda": (
        _by_caller("FlashInferFp8DeepGEMMDynamicBlockScaledKernel", "flashinfer_cutlass", "flashinfer"),
        _by_caller("DeepGemmFp8BlockScaledMMKernel", "deep_gemm", "deep_gemm"),
        _by_caller("CutlassFp8BlockScaledMMKernel", "cutlass", "cutlass"),
        _by_caller("B12xFp8BlockScaledMMKernel", "b12x", "b12x"),
        MARLIN,
        HUMMING,
        TRITON,
        TORCH,
    ),
    "rocm": (_by_caller("AiterFp8BlockScaledMMKernel", "aiter", "aiter"), TRITON),
    "cpu": (
        _by_caller("CPUFp8W8A8BlockScaledMMKernel", None, "cpu"),
        _by_caller("CPUFp8BlockScaledMMKernel", None, "cpu"),
    ),
    "xpu": (_by_caller("XPUFp8BlockScaledMMKernel", "xpu", "xpu"), TRITON, TORCH),
}
"""By kind of platform, the first to be tried first. On other kinds upstream has nothing to try."""


def candidates_for(platform: Platform, answers: Mapping[str, Answer] | None = None) -> tuple[Candidate, ...]:
    """What upstream tries on ``platform``, in order.

    ``answers`` maps names to what kernels say of themselves there; those not named are not installed. Raises UsageError
    for the name of a kernel that has its own answer or is no candidate anywhere.
    """
    answers = answers or {}
    asked = [c.name for tried in CANDIDATES.values() for c in tried if c.is_supported is _not_installed]
    for name in answers:
        if name not in asked:
            raise unknown("kernel to answer for", name, asked)
    tried = CANDIDATES.get(platform.kind, ())
    tried = _humming_ahead(tried) if PATHS["sm90"].holds(platform) else tried
    return tuple(_answering(c, answers[c.name]) if c.name in answers else c for c in tried)


def _answering(candidate: Candidate, answer: Answer) -> Candidate:
    return replace(candidate, is_supported=lambda _: answer)


def _humming_ahead(tried: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """``tried`` with Humming directly ahead of Marlin, which vLLM 0.33.0 does on compute capability 90 alone."""
    others = [candidate for candidate in tried if candidate is not HUMMING]
    place = others.index(MARLIN)
    return (*others[:place], HUMMING, *others[place:])


def differences(real: Mapping[str, Sequence[str]]) -> list[str]:
    """How an installed upstream differs from `CANDIDATES`, one sentence for each kind of platform that does.

    ``real`` maps kinds to class names in order: with vLLM installed, the lower-case names of the platforms in its
    table of FP8 block kernels, each with the ``__name__`` of its kernels.
    """
    known = {kind: [candidate.name for candidate in tried] for kind, tried in CANDIDATES.items()}
    pairs = {kind: (list(real.get(kind, ())), known.get(kind, [])) for kind in (*known, *real)}
    return [
        f"{kind}: upstream tries {', '.join(theirs) or 'nothing'}, where {', '.join(ours) or 'nothing'} is known."
        for kind, (theirs, ours) in pairs.items()
        if theirs != ours
    ]
