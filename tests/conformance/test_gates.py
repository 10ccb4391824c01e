"""Wrong gates are caught: a torch that lets a platform through, or treats it as another one, breaks its contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from cases import parse_case
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.calling import Outcome
from conformance.contract.described import described
from conformance.evidence import evidence_for
from conformance.judge import judge
from conformance.probe import Platform

CASE = parse_case("gemm/1x128-128x128/m5-n144-k400/fp32/integer-codes/s0")
CUBLAS = RuntimeError("CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasLtMatmulAlgoGetHeuristic(...)`")
HOPPER_ONLY = NotImplementedError("DeepSeek style (1x128, 128x128) scaling only supported in CUDA for SM90")
UNPADDED = ValueError("scale_b must have shape 4 x 2 Float elements, got torch.Size([4, 2]); strides must be (1, 4)")
NO_RECIPE = ValueError("Invalid scaling configuration.\n- For TensorWise scaling, ...")
ROCM_LACKS_IT = NotImplementedError("1x128 and 128x128 scaling not available with ROCm")


@dataclass
class Torch:
    """An API of torch: only its name matters, since what it does is said beside it."""

    api: str

    @property
    def name(self) -> str:
        return f"torch-{self.api}"

    def apply_block_scaled_mm(self, A: object, B: object, As: object, Bs: object, *, out_dtype: object) -> None:
        raise AssertionError("nothing is launched on a platform that is only described")


Answer = Exception | torch.Tensor


def verdict(api: str, platform: Platform, answer: Answer) -> tuple[str, str]:
    """What is said of ``answer``, an exception or a product, on ``platform``."""
    assignment = Assignment.of(CASE, Backend(Torch(api), spec=api), platform)
    evidence = evidence_for(CASE, seed=0, device=torch.device("cpu"))
    raised = answer if isinstance(answer, Exception) else None
    found = judge(CASE, evidence, assignment.promise, None, Outcome(None if raised else answer, raised))
    return found.verdict, found.reason


@pytest.fixture(scope="module")
def product() -> torch.Tensor:
    """The right product, which a wrong gate may still give."""
    return evidence_for(CASE, seed=0, device=torch.device("cpu")).exact.float()


BLACKWELL, GEFORCE = described("cuda/sm100", "2.13.0"), described("cuda/sm120", "2.13.0")
ADA, HOPPER = described("cuda/sm89", "2.13.0"), described("cuda/sm90", "2.13.0")
MI300, MI350 = described("rocm/gfx942", "2.13.0"), described("rocm/gfx950", "2.13.0")
INTEL = described("xpu/bmg", "2.13.0")


@pytest.mark.parametrize(
    ("api", "platform", "answer"),
    [
        ("v2", BLACKWELL, HOPPER_ONLY),
        ("v2", GEFORCE, HOPPER_ONLY),
        ("v2", ADA, HOPPER_ONLY),
        ("v1", BLACKWELL, CUBLAS),
        ("v2", MI300, NO_RECIPE),
        ("v2", MI350, ROCM_LACKS_IT),
    ],
)
def test_right_gates_are_rejections(api: str, platform: Platform, answer: Exception) -> None:
    assert verdict(api, platform, answer) == ("rejected", "")


@pytest.mark.parametrize("platform", [BLACKWELL, GEFORCE], ids=lambda platform: platform.arch)
def test_at_least_hopper_for_hopper_is_caught(platform: Platform, product: torch.Tensor) -> None:
    # `>=` lets newer GPUs through to cuBLASLt, which has no algorithm for them; a product would be news as well.
    assert verdict("v2", platform, CUBLAS)[0] == "failed"
    assert verdict("v2", platform, product) == ("failed", "accepted")
    assert verdict("v1", platform, product) == ("failed", "accepted")


@pytest.mark.parametrize("platform", [MI300, MI350], ids=lambda platform: platform.arch)
def test_rocm_that_falls_through_to_cuda_is_caught(platform: Platform, product: torch.Tensor) -> None:
    assert verdict("v2", platform, CUBLAS)[0] == "failed"
    assert verdict("v2", platform, HOPPER_ONLY)[0] == "failed"
    assert verdict("v2", platform, product) == ("failed", "accepted")


def test_the_two_amd_generations_are_told_apart() -> None:
    assert verdict("v2", MI300, ROCM_LACKS_IT)[0] == "failed"
    assert verdict("v2", MI350, NO_RECIPE)[0] == "failed"


def test_xpu_assumed_to_be_like_cuda_is_caught(product: torch.Tensor) -> None:
    # On CUDA the scales of B are padded to 4 K blocks; on XPU nothing is, and a product is owed without.
    assert verdict("v2", INTEL, UNPADDED) == ("failed", "raised")
    assert verdict("v2", INTEL, HOPPER_ONLY) == ("failed", "raised")
    assert verdict("v1", INTEL, CUBLAS) == ("failed", "raised")
    assert verdict("v2", INTEL, product)[0] == "passed"


def test_hopper_owes_a_product(product: torch.Tensor) -> None:
    for api in ("v1", "v2"):
        assert verdict(api, HOPPER, product)[0] == "passed"
        assert verdict(api, HOPPER, HOPPER_ONLY) == ("failed", "raised")


Gate = Callable[[Platform], bool]


@pytest.mark.parametrize(
    ("gate", "wrong_on"),
    [
        (lambda p: p.kind == "cuda" and p.arch == "sm90", set()),
        (lambda p: p.kind == "cuda" and int(p.arch[2:]) >= 90, {"cuda/sm100", "cuda/sm103", "cuda/sm120"}),
        (lambda p: p.kind in ("cuda", "rocm") and p.arch in ("sm90", "gfx942"), {"rocm/gfx942"}),
        (lambda p: p.kind == "cuda", {"cuda/sm89", "cuda/sm100", "cuda/sm103", "cuda/sm120"}),
    ],
    ids=["equality", "at-least", "rocm-too", "any-cuda"],
)
def test_every_wrong_gate_of_v2_contradicts_the_contract_where_it_is_wrong(
    gate: Gate, wrong_on: set[str], product: torch.Tensor
) -> None:
    names = ["cuda/sm89", "cuda/sm90", "cuda/sm100", "cuda/sm103", "cuda/sm120", "rocm/gfx942", "rocm/gfx950"]
    refusals = {"rocm/gfx942": NO_RECIPE, "rocm/gfx950": ROCM_LACKS_IT}
    contradicted = set()
    for name in names:
        platform = described(name, "2.13.0")
        answer = product if gate(platform) else refusals.get(name, HOPPER_ONLY)
        if verdict("v2", platform, answer)[0] == "failed":
            contradicted.add(name)

    assert contradicted == wrong_on
