"""Tensor-wise and row-wise scales: who is asked for them, what is owed, right kernels that pass and wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kernels
import pytest
import torch
from torch import Tensor

from cases import Problem, parse_case, plan
from cases.problem import BLOCK_RECIPES, RECIPES, WHOLE_RECIPES
from conformance.assignment import Assignment
from conformance.backends.models import EmulatedSM90
from conformance.backends.protocol import Backend
from conformance.backends.torch_v1 import TorchV1
from conformance.backends.torch_v2 import TorchV2
from conformance.conclude import conclude
from conformance.contract import Absent, Compute, Promise, Refuse, RightOrRefused, promise_of
from conformance.diagnosis.whole import name_whole
from conformance.errors import UsageError
from conformance.evidence import evidence_for
from conformance.execute import run_case
from conformance.faults.sufficient import by_check
from conformance.measure import out_of_bound
from conformance.presentation import present
from conformance.probe import Platform
from conformance.request import Request
from conformance.session import Session

CPU = Platform("cpu", "x86_64", "2.13.0")
CASES = [case for case in plan("quick") if case.problem.has_whole_scales]
OUTS = pytest.mark.parametrize("out", ["fp32", "bf16", "fp16"])
every_recipe = pytest.mark.parametrize("recipe", WHOLE_RECIPES)
Product = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


class Kernel:
    """A kernel of whole scales; ``product`` gets float32 values [M,K] and [N,K], scales [M,1] and [1,N]."""

    name = "whole"
    recipes = WHOLE_RECIPES

    def __init__(self, product: Product) -> None:
        self._product = product

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str
    ) -> Tensor:
        sa, sb = As.expand(len(A), 1), Bs.expand(len(B), 1).t()
        return self._product(A.float(), B.float(), sa, sb).to(out_dtype)


def verdicts(product: Product, recipe: str, out: str, families: tuple[str, ...]) -> list[str]:
    backend = Backend(Kernel(product), spec="test")
    found = []
    for family in families:
        case = parse_case(f"gemm/{recipe}/m5-n144-k400/{out}/{family}/s0")
        found.append(run_case(Assignment.of(case, backend, CPU), seed=0, device=torch.device("cpu")).verdict)
    return found


RIGHT: dict[str, Product] = {
    "dequantise-first": lambda a, b, sa, sb: (a * sa) @ (b * sb.t()).t(),
    "scales-last": lambda a, b, sa, sb: (a @ b.t()) * sa * sb,
    "scales-together": lambda a, b, sa, sb: (a @ b.t()) * (sa * sb),
    "float64": lambda a, b, sa, sb: ((a.double() @ b.double().t()) * sa * sb).float(),
    "halves-of-k": lambda a, b, sa, sb: (a[:, :208] @ b[:, :208].t() + a[:, 208:] @ b[:, 208:].t()) * sa * sb,
}
ALL = (
    "tagged-integers",
    "integer-codes",
    "uniform-codes",
    "quantised-normal",
    "quantised-outliers",
    "positive-codes",
    "odd-scales",
    "full-scales",
    "wide-scales",
    "signed-scales",
)


@OUTS
@every_recipe
@pytest.mark.parametrize("kernel", list(RIGHT))
def test_right_kernels_pass(kernel: str, recipe: str, out: str) -> None:
    assert set(verdicts(RIGHT[kernel], recipe, out, ALL)) == {"passed"}


def _halved(x: Tensor) -> Tensor:
    return x.bfloat16().float()


def _bf16_sums(a: Tensor, b: Tensor, sa: Tensor, sb: Tensor) -> Tensor:
    total = torch.zeros(len(a), len(b), dtype=torch.bfloat16)
    for start in range(0, a.shape[1], 16):
        total = total + (a[:, start : start + 16] @ b[:, start : start + 16].t()).bfloat16()
    return total.float() * sa * sb


WRONG: dict[str, tuple[Product, tuple[str, ...]]] = {
    "ignores-scale-b": (lambda a, b, sa, _: (a @ b.t()) * sa, WHOLE_RECIPES),
    "ignores-scale-a": (lambda a, b, _, sb: (a @ b.t()) * sb, WHOLE_RECIPES),
    "row-before": (lambda a, b, sa, sb: (a @ b.t()) * sa.roll(1, 0) * sb, ("rowwise",)),
    "column-before": (lambda a, b, sa, sb: (a @ b.t()) * sa * sb.roll(1, 1), ("rowwise",)),
    "first-row-for-all": (lambda a, b, sa, sb: (a @ b.t()) * sa[:1] * sb, ("rowwise",)),
    "rows-and-columns-swapped": (
        lambda a, b, sa, sb: (a @ b.t()) * sb[:, : len(a)].t() * sa.repeat(len(b), 1)[: len(b)].t(),
        ("rowwise",),
    ),
    "last-16-lanes-lost": (lambda a, b, sa, sb: (a[:, :-16] @ b[:, :-16].t()) * sa * sb, WHOLE_RECIPES),
    "last-lane-lost": (lambda a, b, sa, sb: (a[:, :-1] @ b[:, :-1].t()) * sa * sb, WHOLE_RECIPES),
    "bf16-sums": (_bf16_sums, WHOLE_RECIPES),
    "bf16-scales": (lambda a, b, sa, sb: (a @ b.t()) * _halved(sa) * _halved(sb), WHOLE_RECIPES),
    "bf16-operands": (lambda a, b, sa, sb: _halved(a * sa) @ _halved(b * sb.t()).t(), WHOLE_RECIPES),
    "magnitude-of-scales": (lambda a, b, sa, sb: (a @ b.t()) * sa.abs() * sb.abs(), ("rowwise",)),
}


NAMED = {
    "ignores-scale-b": "leaving out the B scales",
    "ignores-scale-a": "leaving out the A scales",
    "row-before": "using the A scale of the previous row",
    "column-before": "using the B scale of the previous column",
    "first-row-for-all": "using the A scale of the first row everywhere",
    "rows-and-columns-swapped": "exchanging the scales of A and B",
    "last-16-lanes-lost": "leaving out the last 16 of K",
    "last-lane-lost": "leaving out the last lane of K",
}


@pytest.mark.parametrize(("kernel", "recipe"), [(k, r) for k in NAMED for r in WRONG[k][1]])
def test_the_fault_of_a_wrong_kernel_is_named(kernel: str, recipe: str) -> None:
    case = parse_case(f"gemm/{recipe}/m5-n144-k400/fp32/uniform-codes/s0")
    evidence = evidence_for(case, seed=0, device=torch.device("cpu"))
    out = Kernel(WRONG[kernel][0]).apply_block_scaled_mm(
        *evidence.operands.tensors, out_dtype=torch.float32, recipe=recipe
    )
    wrong = out_of_bound(out, evidence.expectation(None))
    named = name_whole(present(evidence.operands), case.problem, out, wrong)

    assert named is not None
    assert (named.says, named.explained, named.bitwise) == (NAMED[kernel], int(wrong.sum()), False)


def test_no_fault_is_named_for_what_none_gives() -> None:
    case = parse_case("gemm/rowwise/m5-n144-k400/fp32/uniform-codes/s0")
    evidence = evidence_for(case, seed=0, device=torch.device("cpu"))
    out = evidence.exact.float() * 1.37

    assert name_whole(present(evidence.operands), case.problem, out, torch.ones_like(out, dtype=torch.bool)) is None


@pytest.mark.parametrize(("kernel", "recipe"), [(k, r) for k, (_, recipes) in WRONG.items() for r in recipes])
def test_wrong_kernels_fail_a_case_of_the_quick_profile(kernel: str, recipe: str) -> None:
    backend = Backend(Kernel(WRONG[kernel][0]), spec="test")
    mine = [case for case in CASES if case.problem.recipe == recipe and case.check == case.family.name]

    found = {
        case.id: run_case(Assignment.of(case, backend, CPU), seed=0, device=torch.device("cpu")).verdict
        for case in mine
    }

    assert "failed" in found.values(), found


@every_recipe
@pytest.mark.parametrize("family", ["uniform-codes", "quantised-normal"])
def test_the_bound_sees_an_ignored_scale(family: str, recipe: str) -> None:
    for kernel in ("ignores-scale-a", "ignores-scale-b"):
        assert verdicts(WRONG[kernel][0], recipe, "bf16", (family,)) == ["failed"]


# Who is asked.


@pytest.mark.parametrize("subject", [kernels.Reversed, EmulatedSM90])
def test_a_kernel_that_says_nothing_is_asked_for_block_scales_alone(subject: type) -> None:
    backend = Backend(subject(), spec="test")
    case = parse_case("gemm/rowwise/m5-n144-k400/bf16/tagged-integers/s0")

    promise = Assignment.of(case, backend, CPU).promise

    assert backend.recipes == BLOCK_RECIPES
    assert isinstance(promise, Absent)
    assert "rowwise is none of its recipes" in promise.reason


def test_its_session_plans_none_of_them_and_one_of_torch_does() -> None:
    session = Session.open(Request(backends=("emulated-sm90", "torch-v1"), device="cpu", profile="quick"))

    asked = {(a.backend.name, a.case.problem.has_whole_scales) for a in session.assignments}

    assert asked == {("emulated-sm90", False), ("torch-v1", False), ("torch-v1", True)}


def test_the_catalogue_of_faults_is_not_asked() -> None:
    assert not any(case.problem.has_whole_scales for cases in by_check(CASES, "cpu").values() for case in cases)


@pytest.mark.parametrize("declared", ["rowwise", (), ("row-wise",), 3, None])
def test_recipes_that_do_not_exist_are_named(declared: Any) -> None:
    subject = kernels.Reversed()
    subject.recipes = declared  # type: ignore[attr-defined]

    with pytest.raises(UsageError, match=f"`recipes` is a tuple of one or more of {', '.join(RECIPES)}, got"):
        Backend(subject, spec="test")


@every_recipe
def test_a_declared_arithmetic_is_no_claim_without_k_blocks(recipe: str) -> None:
    subject = Kernel(RIGHT["float64"])
    subject.arithmetic = "sm90"  # type: ignore[attr-defined]
    case = parse_case(f"gemm/{recipe}/m5-n144-k400/bf16/uniform-codes/s0")
    assignment = Assignment.of(case, Backend(subject, spec="test"), CPU)

    assert assignment.claim is None
    assert run_case(assignment, seed=0, device=torch.device("cpu")).verdict == "passed"


def test_special_values_are_of_declared_arithmetics_alone() -> None:
    assert verdicts(RIGHT["float64"], "rowwise", "fp32", ("special-values",)) == ["unsupported"]


# What is owed.


@pytest.mark.parametrize(
    ("api", "torch_version", "tensorwise", "rowwise"),
    [
        ("v1", "2.7.1", RightOrRefused, RightOrRefused),
        ("v1", "2.8.0", Compute, Refuse),
        ("v1", "2.11.0", Compute, Refuse),
        ("v1", "2.12.1", Compute, Compute),
        ("v1", "2.14.1", Compute, Compute),
        ("v2", "2.9.1", Absent, Absent),
        ("v2", "2.11.0", Refuse, Refuse),
        ("v2", "2.12.1", Compute, Compute),
    ],
)
def test_what_cpus_owe(api: str, torch_version: str, tensorwise: type, rowwise: type) -> None:
    described = Platform("cpu", "x86_64", torch_version)

    actual = [promise_of(api, described, Problem(5, 144, 400, recipe=recipe)) for recipe in WHOLE_RECIPES]

    assert [type(promise) for promise in actual] == [tensorwise, rowwise]
    assert not any(isinstance(promise, Compute) and promise.via for promise in actual)


@pytest.mark.parametrize(("kind", "arch"), [("cuda", "sm90"), ("cuda", "sm80"), ("rocm", "gfx942"), ("xpu", "bmg")])
def test_of_other_devices_nothing_is_said(kind: str, arch: str) -> None:
    owed: list[Promise] = [
        promise_of(api, Platform(kind, arch, "2.13.0", "13.0"), Problem(5, 144, 400, recipe=recipe))
        for api in ("v1", "v2")
        for recipe in WHOLE_RECIPES
    ]

    assert owed == [RightOrRefused()] * 4


@pytest.mark.parametrize("subject", [TorchV1, TorchV2])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_torch_on_this_cpu_is_right(subject: type, case: Any) -> None:
    platform = Platform("cpu", "x86_64", torch.__version__)
    assignment = Assignment.of(case, Backend(subject(), spec="test"), platform)

    record = run_case(assignment, seed=0, device=torch.device("cpu"))

    assert record.verdict in ("passed", "rejected", "unsupported"), record
    if isinstance(assignment.promise, Compute):
        assert (record.verdict, record.computed, record.recipe) == ("passed", True, case.problem.recipe)


# What a run says.


def test_digests_leave_out_the_bits_that_threads_change() -> None:
    ids = ("rowwise/m5-n144-k400/fp32/uniform-codes", "rowwise/m5-n144-k400/fp32/tagged-integers")
    blocks = "1x128-128x128/m5-n144-k400/fp32/uniform-codes"
    backend = Backend(TorchV1(), spec="test")

    actual = [Assignment.of(parse_case(f"gemm/{text}/s0"), backend, CPU).repeats_bits for text in (*ids, blocks)]

    assert actual == [False, True, True]


def line(recipe: str, *, computed: bool, backend: str = "torch-v1") -> dict[str, Any]:
    return {"verdict": "passed", "path": "cpu", "backend": backend, "recipe": recipe, "computed": computed}


def test_a_run_says_which_scales_were_computed_and_by_whom() -> None:
    lines = [line("rowwise", computed=True), line("tensorwise", computed=True, backend="torch-v2")]

    found = conclude([*lines, line("1x128-128x128", computed=True, backend="emulated-sm90")])

    assert found.code == 0
    assert found.sentence.endswith(
        "(computed: block scales by emulated-sm90, tensorwise by torch-v2, rowwise by torch-v1)"
    )


def test_products_of_whole_scales_are_not_taken_for_block_scaled_ones() -> None:
    lines = [line("rowwise", computed=True), {**line("1x128-128x128", computed=False), "verdict": "rejected"}]

    assert conclude(lines).code == 4
    assert "no block-scaled product was computed (computed: rowwise by torch-v1)" in conclude(lines).sentence
    assert conclude(lines, require=["cpu"]).code == 0
    assert conclude(lines[:1]).code == 0


def test_what_is_taken_for_tensor_wise_scaling_is_no_block_scaled_product() -> None:
    case = parse_case("gemm/1x128-128x128/m1-n8-k72/fp32/tagged-integers/s0")
    assignment = Assignment.of(case, Backend(TorchV1(), spec="test"), CPU)

    assert assignment.is_detour
    assert not assignment.computes
