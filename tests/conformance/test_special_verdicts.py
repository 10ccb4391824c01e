"""Verdicts on results that are NaN or infinite, and what a failure names."""

from __future__ import annotations

import math
from typing import Any

import kernels
import pytest
import torch
from torch import Tensor

from cases import FAMILIES, Case, Problem, parse_case
from cases.fill import FILLS
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.diagnosis.finding import wrong_elements
from conformance.evidence import evidence_for
from conformance.execute import run_case
from conformance.measure import measure_exact, wrong_exactly
from conformance.probe import Platform
from conformance.verdict import CaseRecord

PLATFORM = Platform("cpu", "x86_64", torch.__version__)
CPU = torch.device("cpu")
SHAPE = "gemm/1x128-128x128/m5-n144-k400"


class Right(kernels.DequantiseFirst):
    """Right, with a seam before the store and one before the product."""

    name = "right"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        total = super().apply_block_scaled_mm(A, *self.read(B, As, Bs), out_dtype=torch.float32)
        return self.store(total, out_dtype)

    def read(self, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return B, As, Bs

    def store(self, total: Tensor, out_dtype: torch.dtype) -> Tensor:
        return total.to(out_dtype)


class InfinityForNan(Right):
    def store(self, total: Tensor, out_dtype: torch.dtype) -> Tensor:
        return torch.where(total.isnan(), math.inf, total).to(out_dtype)


class NanForInfinity(Right):
    def store(self, total: Tensor, out_dtype: torch.dtype) -> Tensor:
        return torch.where(total.isinf(), math.nan, total).to(out_dtype)


class ZeroForNan(Right):
    def store(self, total: Tensor, out_dtype: torch.dtype) -> Tensor:
        return total.nan_to_num(0.0, math.inf, -math.inf).to(out_dtype)


class Saturating(Right):
    def store(self, total: Tensor, out_dtype: torch.dtype) -> Tensor:
        info = torch.finfo(out_dtype)
        return total.clamp(info.min, info.max).to(out_dtype)


class WithoutSign(Right):
    def store(self, total: Tensor, out_dtype: torch.dtype) -> Tensor:
        return torch.where(total.isinf(), math.inf, total).to(out_dtype)


class SpreadsNan(Right):
    def store(self, total: Tensor, out_dtype: torch.dtype) -> Tensor:
        spread = total.isnan().any(1, keepdim=True).roll(1, 0)
        return torch.where(spread, math.nan, total).to(out_dtype)


class FirstScale(Right):
    def read(self, B: Tensor, As: Tensor, Bs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return B, As, Bs[:, :1].expand_as(Bs)


def judged(kernel: type, case: str) -> CaseRecord:
    assignment = Assignment.of(parse_case(case), Backend(kernel(), spec="test"), PLATFORM)
    return run_case(assignment, seed=0, device=CPU)


@pytest.mark.parametrize("kernel", [Right, kernels.Reversed])
@pytest.mark.parametrize("values", [name for name, family in FAMILIES.items() if family.tier != "declared"])
@pytest.mark.parametrize("out", ["fp32", "fp16"])
def test_right_kernels_pass_every_family(kernel: type, values: str, out: str) -> None:
    for seed in (0, 1, 4, 7):
        record = judged(kernel, f"{SHAPE}/{out}/{values}/s{seed}")

        assert (record.verdict, record.detail) == ("passed", "")


@pytest.mark.parametrize(
    ("kernel", "values", "verdict"),
    [
        (ZeroForNan, "one-nan/s0", "failed"),  # NaN in A
        (ZeroForNan, "one-nan/s4", "failed"),  # infinity in As
        (InfinityForNan, "one-nan/s0", "failed"),
        (InfinityForNan, "one-nan/s4", "passed"),
        (NanForInfinity, "one-nan/s4", "passed"),
        (SpreadsNan, "one-nan/s2", "failed"),
        (WithoutSign, "one-nan/s6", "passed"),
        (Saturating, "overflow/s0", "failed"),
        (NanForInfinity, "overflow/s0", "failed"),
        (WithoutSign, "overflow/s0", "failed"),
        (Saturating, "tagged-integers/s0", "passed"),
        (ZeroForNan, "tagged-integers/s0", "passed"),
    ],
)
def test_what_is_owed_where_results_are_not_finite(kernel: type, values: str, verdict: str) -> None:
    record = judged(kernel, f"{SHAPE}/fp16/{values}")

    assert record.verdict == verdict
    assert record.reason == ("wrong-values" if verdict == "failed" else "")


@pytest.mark.parametrize(
    ("kernel", "values", "note"),
    [
        (FirstScale, "one-scale/s24", "the one edited scale is Bs[N block 1, K block 0]"),
        (FirstScale, "one-scale/s25", "the one edited scale is Bs[N block 1, K block 1]"),
        (ZeroForNan, "one-nan/s3", "the one special value is NaN in Bs[N block 1, K block 0]"),
    ],
)
def test_a_failure_names_what_the_seed_did(kernel: type, values: str, note: str) -> None:
    seed = int(values.split("/s")[1])
    name = values.split("/")[0]
    assert FAMILIES[name].note(Problem(5, 144, 400), seed) == note

    record = judged(kernel, f"{SHAPE}/fp32/{values}")

    assert record.verdict == "failed"
    assert record.detail.endswith(f"; {note}")
    assert " are wrong, the first at (" in record.detail


def test_a_failure_of_other_families_names_nothing_more() -> None:
    record = judged(FirstScale, f"{SHAPE}/fp32/tagged-integers/s0")

    assert record.verdict == "failed"
    assert ";" not in record.detail


def test_what_is_wrong_is_the_same_when_it_is_explained() -> None:
    case = parse_case(f"{SHAPE}/fp32/one-nan/s4")
    evidence = evidence_for(case, seed=0, device=CPU)
    out = evidence.exact.float()
    out[~out.isfinite()] = math.nan
    assert not wrong_elements(case, evidence, out).any()
    out[4, 0], out[0, 1] = 1.0, math.nan

    actual = wrong_elements(case, evidence, out)

    assert actual.nonzero().tolist() == [[0, 1], [4, 0]]


@pytest.mark.parametrize(
    ("out", "exact", "is_wrong", "is_wrong_among_infinite_scales"),
    [
        (math.nan, math.nan, False, False),
        (math.inf, math.inf, False, False),
        (math.inf, math.nan, True, False),
        (math.nan, math.inf, True, False),
        (-math.inf, math.inf, True, False),
        (1.0, math.nan, True, True),
        (3.0e38, math.inf, True, True),
        (math.nan, 1.0, True, True),
        (math.inf, 1.0, True, True),
        (math.inf, 1e39, False, False),
        (math.nan, 1e39, True, True),
        (0.0, -0.0, False, False),
        (1.0, 1.0 + 2.0**-30, False, False),
    ],
)
def test_elements_are_right_or_wrong_one_by_one(
    out: float, exact: float, is_wrong: bool, is_wrong_among_infinite_scales: bool
) -> None:
    result, value = torch.tensor([[out]]), torch.tensor([[exact]], dtype=torch.float64)

    assert wrong_exactly(result, value).item() is is_wrong
    assert wrong_exactly(result, value, any_special=True).item() is is_wrong_among_infinite_scales


def test_numbers_beside_values_that_are_not_finite() -> None:
    out = torch.tensor([[1.0, math.nan, math.inf, -math.inf, math.nan]])
    exact = torch.tensor([[1.0, math.nan, math.inf, math.inf, 2.0]], dtype=torch.float64)

    actual = measure_exact(out, exact, exact.float())

    assert (actual.wrong, actual.not_finite, actual.worst_ulp, actual.rel_diff) == (2, 4, 0, None)
    assert [(e.column, e.actual, e.expected) for e in actual.first_wrong] == [
        (3, "-inf", "inf"),
        (4, "nan", "0x1.0000000000000p+1"),
    ]


def test_data_that_is_not_exact_is_the_fault_of_the_harness(monkeypatch: pytest.MonkeyPatch) -> None:
    def inexact(case: Case, stream: Any) -> Any:
        codes = torch.full((16, 128), 13.0).to(torch.float8_e4m3fn)
        return codes[:5], codes, torch.ones(5, 1), torch.ones(1, 1)

    monkeypatch.setitem(FILLS, "integer-codes", inexact)

    with pytest.raises(AssertionError, match=r"integer-codes/s7 is not exact: sums inside a K block reach 21632"):
        judged(Right, "gemm/1x128-128x128/m5-n16-k128/fp32/integer-codes/s7")
