"""Backends of other packages: operands arrive as the package documents them, and what is missing is said."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import stub_packages
import torch
from stub_packages import PACKAGES, install
from torch import Tensor

from cases import Problem, parse_case
from cases.operands import build_operands
from conformance.assignment import Assignment
from conformance.backends.borrowed import Borrowed
from conformance.backends.names import BUILT_IN
from conformance.backends.optional import UnavailableError
from conformance.backends.protocol import Backend
from conformance.backends.registry import load_backend
from conformance.capabilities.asking import declined_problem
from conformance.conclude import INCONCLUSIVE, conclude
from conformance.contract import Absent
from conformance.contract.described import described
from conformance.doctor import examine
from conformance.doctor_tables import render
from conformance.execute import run_case
from conformance.probe import Platform
from reference import native_w8a8_block_matmul

HOPPER = Platform("cuda", "sm90", "2.13.0", "13.0", "a GPU that is here")
PLANNED = described("cuda/sm90", "2.13.0")
CASE = parse_case("gemm/1x128-128x128/m6-n192-k384/bf16/quantised-normal/s0")


def adapter(name: str) -> Borrowed:
    """The backend itself, fresh: it looks for its package once."""
    found = load_backend(name).subject
    assert isinstance(found, Borrowed)
    return found


def strided(x: Tensor) -> Tensor:
    """``x`` by columns, with gaps between them."""
    wide = x.new_zeros(x.shape[1], x.shape[0] + 3)
    wide[:, : x.shape[0]] = x.t()
    return wide[:, : x.shape[0]].t()


@pytest.mark.parametrize("m", [1, 6, 8])
@pytest.mark.parametrize("name", PACKAGES)
def test_operands_reach_the_package_as_it_wants_them(name: str, m: int, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, PACKAGES[name])
    case = parse_case(f"gemm/1x128-128x128/m{m}-n192-k384/bf16/quantised-normal/s0")
    A, B, As, Bs = build_operands(case).tensors
    expected = native_w8a8_block_matmul(A, B, As, Bs, (128, 128), torch.bfloat16)
    for operands in ((A, B, As, Bs), tuple(map(strided, (A, B, As, Bs)))):
        actual = adapter(name).apply_block_scaled_mm(*operands, out_dtype=torch.bfloat16)
        assert torch.equal(actual, expected)


@pytest.mark.parametrize("recipe", ["128x128-1x128", "1x128-1x128"])
def test_transformer_engine_takes_scales_by_row_or_by_block_on_either_side(
    recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, PACKAGES["transformer-engine"])
    case = parse_case(f"gemm/{recipe}/m132-n144-k384/fp32/tagged-integers/s0")
    A, B, As, Bs = build_operands(case).tensors
    per_row = [
        scales.repeat_interleave(128, 0)[: len(x)] if side == "128x128" else scales
        for side, x, scales in zip(recipe.split("-"), (A, B), (As, Bs), strict=True)
    ]
    expected = native_w8a8_block_matmul(A, B, *per_row, (1, 128), torch.float32)

    actual = adapter("transformer-engine").apply_block_scaled_mm(A, B, As, Bs, out_dtype=torch.float32, recipe=recipe)

    assert torch.equal(actual, expected)


def test_an_adapter_is_judged_like_any_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, PACKAGES["deep-gemm"])
    right = Assignment.of(CASE, load_backend("deep-gemm"), HOPPER)
    monkeypatch.setattr(stub_packages, "BLOCK", [64, 128])
    assert run_case(right, seed=0, device=torch.device("cpu")).verdict == "failed"
    monkeypatch.undo()
    install(monkeypatch, PACKAGES["deep-gemm"])
    assert run_case(right, seed=0, device=torch.device("cpu")).verdict == "passed"


@pytest.mark.parametrize("name", [*PACKAGES, "triton"])
def test_a_package_that_is_not_installed_is_said_first_with_what_to_type(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = adapter(name).package
    monkeypatch.setitem(sys.modules, package.name, None)

    supported, reason = adapter(name).is_supported(described("cpu", "2.13.0"))
    promise = Assignment.of(CASE, load_backend(name), HOPPER).promise

    assert (supported, reason) == (False, f"{package.name} is not installed: {package.install}")
    assert package.install.startswith("pip install ")
    assert promise == Absent(f"{name}: {reason}")
    assert adapter(name).describe()[package.name] == "not installed"
    with pytest.raises(UnavailableError, match=re.escape(str(reason))):
        adapter(name).functions[0].load()


Written = Callable[[str], None]


@pytest.fixture
def deep_gemm_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Written]:
    """Install a package deep_gemm with this text."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str) -> None:
        (tmp_path / "deep_gemm.py").write_text(text)

    yield write
    sys.modules.pop("deep_gemm", None)


def test_a_package_that_breaks_when_it_is_imported_is_answered_with_its_error(
    deep_gemm_is: Written,
) -> None:
    deep_gemm_is("raise OSError('libcuda.so.1:\\n  cannot open')\n")

    assert adapter("deep-gemm").is_supported(HOPPER) == (
        False,
        "deep_gemm is installed and cannot be imported (OSError: libcuda.so.1: cannot open)",
    )


def test_what_a_package_says_while_it_is_imported_is_no_result(
    deep_gemm_is: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    deep_gemm_is("print('no legacy kernels')\nfp8_gemm_nt = print\n")

    assert adapter("deep-gemm").is_supported(HOPPER) == (True, None)
    assert capsys.readouterr() == ("", "no legacy kernels\n")


def test_a_package_that_lacks_another_one_is_broken_and_not_of_another_version(
    deep_gemm_is: Written,
) -> None:
    deep_gemm_is("import a_module_that_nobody_has\n")

    _, reason = adapter("deep-gemm").is_supported(HOPPER)

    assert "cannot be imported (ModuleNotFoundError: No module named 'a_module_that_nobody_has')" in str(reason)


def test_a_plan_imports_nothing(deep_gemm_is: Written) -> None:
    deep_gemm_is("raise OSError\n")

    assert adapter("deep-gemm").is_supported(PLANNED) == (True, None)
    assert adapter("deep-gemm").describe()["deep_gemm"] == "of unknown version"
    assert "deep_gemm" not in sys.modules


@pytest.mark.parametrize("place", ["vllm.other:function", "vllm._custom_ops:another_function"])
def test_a_function_that_is_gone_is_named_with_the_version_to_get(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {place: print})

    _, reason = adapter("vllm-cutlass").is_supported(HOPPER)

    assert str(reason).startswith("vllm does not have vllm._custom_ops.cutlass_scaled_mm: another version is needed")


def test_a_function_is_found_under_its_earlier_name(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {"deep_gemm:gemm_fp8_fp8_bf16_nt": stub_packages.deep_gemm})

    assert adapter("deep-gemm").is_supported(HOPPER) == (True, None)
    assert adapter("deep-gemm").kernel is stub_packages.deep_gemm


@pytest.mark.parametrize("lacking", list(PACKAGES["transformer-engine"]))
def test_every_function_that_is_needed_is_looked_for(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, {place: made for place, made in PACKAGES["transformer-engine"].items() if place != lacking})

    _, reason = adapter("transformer-engine").is_supported(HOPPER)

    assert f"does not have {lacking.replace(':', '.')}" in str(reason)


@pytest.mark.parametrize(
    ("name", "place", "reason"),
    [
        ("deep-gemm", "cuda/sm100", "needs cuda (sm90)."),
        ("vllm-cutlass", "rocm/gfx942", "needs cuda (sm90, sm100, sm120)."),
        ("vllm-triton", "cpu", None),
        ("vllm-triton", "xpu", ""),
        ("vllm-triton", "cuda/sm80", None),
        ("aiter", "cuda/sm90", "needs rocm (gfx942, gfx950)."),
        ("aiter", "rocm/gfx942", ""),
    ],
)
def test_platforms(name: str, place: str, reason: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, PACKAGES[name])
    triton = "needs cuda (sm89, sm90, sm100, sm103, sm120, sm121), rocm (gfx942, gfx950) or xpu."
    expected = (False, triton if reason is None else reason) if reason != "" else (True, None)

    assert adapter(name).is_supported(described(place, "2.13.0")) == expected


@pytest.mark.parametrize(
    ("name", "problem", "reason"),
    [
        ("deep-gemm", Problem(5, 64, 128), None),
        ("deep-gemm", Problem(5, 32, 128), "declares multiples of 64 alone for N"),
        ("deep-gemm", Problem(5, 64, 144), "declares multiples of 128 alone for K"),
        ("deep-gemm", Problem(5, 64, 128, out="fp16"), "declares no fp16 (e4m3fn, bf16)"),
        ("vllm-cutlass", Problem(5, 64, 144, out="fp32"), "declares no fp32 (e4m3fn, bf16, fp16)"),
        ("vllm-cutlass", Problem(5, 64, 144, out="fp16"), None),
        ("vllm-triton", Problem(5, 33, 129, out="fp32"), None),
        ("vllm-triton", Problem(5, 64, 128, a="e5m2"), "declares no e5m2 (e4m3fn, e4m3fnuz)"),
        (
            "vllm-triton",
            Problem(5, 64, 128, a="e4m3fnuz"),
            ": multiplies e4m3fn by e4m3fn or e4m3fnuz by e4m3fnuz.",
        ),
        ("transformer-engine", Problem(6, 64, 128), "declares multiples of 4 alone for M"),
        ("transformer-engine", Problem(8, 64, 128, a="e5m2"), None),
        (
            "transformer-engine",
            Problem(8, 64, 128, a="e5m2", b="e5m2"),
            ": multiplies e4m3fn by e4m3fn, e4m3fn by e5m2 or e5m2 by e4m3fn.",
        ),
        ("aiter", Problem(8, 64, 128, a="e4m3fnuz", b="e4m3fnuz"), ": this device multiplies e4m3fn."),
        ("aiter", Problem(8, 64, 128), None),
        ("triton", Problem(0, 33, 129, a="e5m2", b="e4m3fn"), None),
        ("triton", Problem(8, 64, 128, b="e4m3fnuz"), "declares no e4m3fnuz (e4m3fn, e5m2)"),
    ],
)
def test_problems(name: str, problem: Problem, reason: str | None) -> None:
    backend = load_backend(name)
    declined = declined_problem(problem, backend)

    assert (declined.reason.removeprefix(name).strip() if declined else None) == reason
    assert declined or backend.announces(problem)


def test_a_run_of_absent_kernels_is_inconclusive_and_says_why() -> None:
    reasons = {"a": "a: x is not installed: pip install x.", "b": "b: needs cuda (sm90)."}
    lines = [
        {"verdict": "unsupported", "reason": reason, "backend": name} for name, reason in reasons.items() for _ in "12"
    ]
    declined = {"verdict": "unsupported", "reason": "a: writes bf16.", "backend": "a"}
    refused = {"verdict": "rejected", "reason": "", "backend": "b"}

    alone, beside = conclude([*lines, declined]), conclude([*lines, refused])

    assert alone.code == beside.code == INCONCLUSIVE
    said = "INCONCLUSIVE: no product was computed; a: x is not installed: pip install x; b: needs cuda (sm90)"
    assert alone.sentence == said
    assert "add --backend emulated-sm90" in beside.sentence


def test_the_doctor_lists_what_can_be_judged_here_and_why_the_rest_cannot(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "deep_gemm", None)
    findings = examine()
    render(findings)

    told = " ".join(capsys.readouterr().out.split())

    assert list(findings["backends"]) == list(BUILT_IN)
    assert "native yes" in told
    assert "deep-gemm no deep_gemm is not installed: pip install" in told


def test_the_page_names_every_kernel_with_its_package_and_its_source() -> None:
    page = (Path(__file__).parents[2] / "docs/backends.md").read_text(encoding="utf-8")
    for name in (*PACKAGES, "triton"):
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        assert f"`{adapter(name).package.name}`" in row
        assert adapter(name).source in row
        assert ("all three" in row) == (len(Backend(adapter(name), spec=name).recipes) == 3)
