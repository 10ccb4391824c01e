"""The contract table, on described platforms."""

from __future__ import annotations

import pytest

from cases import Problem
from conformance.backends.torch_v1 import TorchV1
from conformance.backends.torch_v2 import TorchV2
from conformance.contract import Absent, Compute, Refuse, RightOrRefused, promise_of, refusals
from conformance.probe import PATHS, Platform
from conformance.versions import in_range

UPSTREAM = Problem(83, 576, 7168)
SHARED_EXPERT = Problem(84, 7168, 256)
ONE_BLOCK = Problem(1, 16, 128)


def platform(kind: str, arch: str, torch: str, runtime: str = "") -> Platform:
    return Platform(kind, arch, torch, runtime)


@pytest.mark.parametrize(
    ("described", "v1", "v2"),
    [
        (platform("cuda", "sm90", "2.11.0+cu130", "13.0"), "compute", "compute"),
        (platform("cuda", "sm90", "2.15.0", "13.2"), "compute", "compute"),
        (platform("cuda", "sm90", "2.10.0+cu128", "12.8"), "E3", "E2"),
        (platform("cuda", "sm90", "2.9.1+cu128", "12.8"), "E3", "absent"),
        (platform("cuda", "sm90", "2.9.1+cu130", "13.0"), "compute", "absent"),
        (platform("cuda", "sm80", "2.11.0", "13.0"), "arch", "arch"),
        (platform("cuda", "sm89", "2.11.0", "13.0"), "E4", "E1"),
        (platform("cuda", "sm100", "2.13.0", "13.0"), "E4", "E1"),
        (platform("cuda", "sm100", "2.10.0", "12.8"), "E3", "E1"),
        (platform("cuda", "sm120", "2.13.0", "13.0"), "E4", "E1"),
        (platform("rocm", "gfx942", "2.12.0", "7.0"), "E3", "E5"),
        (platform("rocm", "gfx950", "2.12.0", "7.0"), "E3", "E6"),
        (platform("xpu", "bmg", "2.11.0"), "E0", "E5"),
        (platform("xpu", "bmg", "2.13.0"), "compute", "compute"),
        (platform("cpu", "x86_64", "2.11.0"), "E8a", "no-kernel"),
        (platform("cpu", "x86_64", "2.13.0+cpu"), "E8", "E8"),
        (platform("cpu", "x86_64", "2.9.1"), "E8a", "absent"),
        (platform("mps", "arm64", "2.14.1"), "no-kernel", "no-kernel"),
        (platform("mps", "arm64", "2.15.0"), "no-kernel", "E9"),
    ],
)
def test_promises(described: Platform, v1: str, v2: str) -> None:
    actual = [_label(promise_of(api, described, UPSTREAM)) for api in ("v1", "v2")]

    assert actual == [v1, v2]


def _label(promise: object) -> str:
    match promise:
        case Compute(via=""):
            return "compute"
        case Compute():
            return "detour"
        case Refuse(refusals=owed):
            return "/".join(refusal.label for refusal in owed)
        case Absent():
            return "absent"
        case _:
            return "unknown"


def test_an_undescribed_architecture_may_be_right_or_refuse() -> None:
    assert promise_of("v1", platform("cuda", "sm130", "2.20"), UPSTREAM) == RightOrRefused()


@pytest.mark.parametrize(("kind", "owed"), [("cpu", "detour"), ("rocm", "detour"), ("cuda", "compute")])
def test_one_scale_on_each_side_is_tensorwise_where_m_is_not_padded(kind: str, owed: str) -> None:
    arch = {"cpu": "x86_64", "rocm": "gfx942", "cuda": "sm90"}[kind]

    assert _label(promise_of("v1", platform(kind, arch, "2.13.0", "13.0"), ONE_BLOCK)) == owed


@pytest.mark.parametrize(
    ("torch", "problem", "owed"),
    [
        ("2.13.0", Problem(130, 1, 1), "E8r"),
        ("2.13.0", Problem(2, 1, 128), "E8r"),
        ("2.13.0", Problem(1, 1, 128), "detour"),
        ("2.13.0", Problem(2, 2, 1), "E8"),
        ("2.13.0", Problem(2, 1, 129), "E8"),
        ("2.11.0", Problem(2, 1, 128), "E8a"),
    ],
)
def test_one_column_is_taken_for_row_wise_scales_on_a_cpu(torch: str, problem: Problem, owed: str) -> None:
    assert _label(promise_of("v1", platform("cpu", "x86_64", torch), problem)) == owed


@pytest.mark.parametrize(("torch", "owed"), [("2.9.1+cu130", "E0"), ("2.10.0+cu130", "compute")])
def test_torch_2_9_refuses_unpadded_scales(torch: str, owed: str) -> None:
    assert _label(promise_of("v1", platform("cuda", "sm90", torch, "13.0"), SHARED_EXPERT)) == owed


@pytest.mark.parametrize(
    ("version", "specifiers", "expected"),
    [
        ("2.11.0+cu130", "<2.12", True),
        ("2.12.0.dev20260401+cu130", "<2.12", False),
        ("2.12.1", "<2.12", False),
        ("13.0", "<12.9", False),
        ("12.8", "<12.9", True),
        ("", "<12.9", False),
        ("2.13.0a0+git1234", ">=2.13", True),
    ],
)
def test_version_ranges_ignore_local_and_development_parts(version: str, specifiers: str, expected: bool) -> None:
    assert in_range(version, specifiers) is expected


@pytest.mark.parametrize(
    ("described", "path"),
    [
        (platform("cuda", "sm90", "2.11"), "sm90"),
        (platform("cuda", "sm100", "2.11"), "non_sm90"),
        (platform("cuda", "sm89", "2.11"), "non_sm90"),
        (platform("rocm", "gfx942", "2.11"), "rocm"),
        (platform("xpu", "bmg", "2.11"), "xpu"),
        (platform("mps", "arm64", "2.11"), "mps"),
        (platform("cpu", "sm90", "2.11"), "cpu"),
    ],
)
def test_every_platform_is_on_exactly_one_path(described: Platform, path: str) -> None:
    assert [name for name, rule in PATHS.items() if rule.holds(described)] == [path]
    assert described.path == path


@pytest.mark.parametrize(
    ("described", "supported"),
    [
        (platform("cuda", "sm90", "2.11"), (True, None)),
        (platform("xpu", "bmg", "2.11"), (True, None)),
        (platform("cpu", "x86_64", "2.11"), (False, "requires CUDA, ROCm or XPU.")),
    ],
)
def test_upstream_answers_of_torch_v1(described: Platform, supported: tuple[bool, str | None]) -> None:
    assert TorchV1().is_supported(described) == supported


def test_upstream_gate_is_an_equality() -> None:
    for arch in ("sm89", "sm100", "sm103", "sm120"):
        supported, reason = TorchV1().is_supported(platform("cuda", arch, "2.11"))
        assert not supported
        assert "requires compute capability 90 (Hopper)" in str(reason)
        assert TorchV2().is_supported(platform("cuda", arch, "2.11"))[0] is False


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ("1x128-128x128", None),
        ("128x128-1x128", "requires 1x128 activation quantization."),
        ("1x128-1x128", "requires 128x128 block weight quantization."),
    ],
)
def test_upstream_reasons_of_can_implement(recipe: str, reason: str | None) -> None:
    assert TorchV1().can_implement(Problem(4, 128, 128, recipe=recipe)) == (reason is None, reason)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NotImplementedError("DeepSeek style (1x128, 128x128) scaling only supported in CUDA for SM90"), True),
        (RuntimeError("DeepSeek style (1x128, 128x128) scaling only supported in CUDA for SM90"), False),
        (NotImplementedError("DeepSeek style scaling is fine"), False),
    ],
)
def test_a_refusal_is_its_type_and_its_text(error: Exception, expected: bool) -> None:
    assert refusals.SM90_ONLY.matches(error) is expected
