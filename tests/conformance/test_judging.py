"""Verdicts on kernels whose rightness is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import kernels
import pytest
import torch

from cases import Case, parse_case
from conformance.backends.protocol import Backend
from conformance.execute import Assignment, run_case
from conformance.probe import Platform
from conformance.verdict import CaseRecord
from reference import SM90, Arithmetic, emulate_block_scaled_mm

PLATFORM = Platform("cpu", "x86_64", torch.__version__)
UPSTREAM = "gemm/1x128-128x128/m83-n576-k7168"
RAGGED = "gemm/1x128-128x128/m5-n144-k400"


def judged(subject: object, case: str | Case) -> CaseRecord:
    backend = Backend(subject() if isinstance(subject, type) else subject, spec="test")
    case = parse_case(case) if isinstance(case, str) else case
    return run_case(Assignment.of(case, backend, PLATFORM), seed=0, device=torch.device("cpu"))


@pytest.mark.parametrize("shape", [UPSTREAM, RAGGED])
@pytest.mark.parametrize("values", ["tagged-integers", "uniform-codes", "quantised-normal"])
@pytest.mark.parametrize("kernel", [kernels.Reversed, kernels.DequantiseFirst])
def test_honest_kernels_of_other_orders_pass(kernel: type, values: str, shape: str) -> None:
    record = judged(kernel, f"{shape}/bf16/{values}/s0")

    assert (record.verdict, record.reason) == ("passed", "")


@pytest.mark.parametrize("shape", [UPSTREAM, RAGGED, "gemm/1x128-128x128/m1-n16-k256"])
@pytest.mark.parametrize("values", ["tagged-integers", "uniform-codes", "quantised-normal"])
def test_one_wrong_scale_index_fails(values: str, shape: str) -> None:
    record = judged(kernels.NextScale, f"{shape}/fp32/{values}/s0")

    assert record.verdict == "failed"
    assert record.reason == ("wrong-values" if values == "tagged-integers" else "out-of-bound")
    assert record.measured is not None
    assert record.measured.wrong > 0


def test_a_truncating_store_fails_in_bfloat16_alone() -> None:
    cut = judged(kernels.Truncating, f"{RAGGED}/bf16/tagged-integers/s0")
    whole = judged(kernels.Truncating, f"{RAGGED}/fp32/tagged-integers/s0")

    assert (cut.verdict, cut.reason, whole.verdict) == ("failed", "wrong-values", "passed")


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (kernels.Raises, "raised"),
        (kernels.ReturnsNothing, "nothing-returned"),
        (kernels.WrongShape, "wrong-shape"),
        (kernels.WrongDtype, "wrong-dtype"),
        (kernels.NotANumber, "wrong-values"),
        (kernels.WritesOperand, "memory-changed"),
        (kernels.WritesPastOperand, "memory-changed"),
    ],
)
def test_misbehaviour_has_its_own_reason(kernel: type, reason: str) -> None:
    record = judged(kernel, f"{RAGGED}/bf16/tagged-integers/s0")

    assert (record.verdict, record.reason) == ("failed", reason)
    assert record.detail


def test_a_nan_is_out_of_any_bound() -> None:
    record = judged(kernels.NotANumber, f"{RAGGED}/bf16/uniform-codes/s0")

    assert (record.verdict, record.reason) == ("failed", "out-of-bound")


def test_unsupported_is_not_called_and_says_why() -> None:
    record = judged(kernels.Unsupported, f"{RAGGED}/bf16/uniform-codes/s0")

    assert (record.verdict, record.computed) == ("unsupported", False)
    assert record.reason == "unsupported: needs an accelerator that is not here."


def test_a_false_claim_of_arithmetic_is_unexplained_although_within_the_bound() -> None:
    record = judged(kernels.Claims, f"{RAGGED}/fp32/uniform-codes/s0")

    assert (record.verdict, record.reason) == ("failed", "unexplained-bits")
    assert record.measured is not None
    assert (record.measured.wrong, record.measured.plan) == (0, None)


class Emulating:
    """SM90 by another name, with a split and variations, under a declared arithmetic."""

    name = "emulating"
    arithmetic = SM90

    def __init__(self, *, actual: Arithmetic = SM90, split_k: int | None = None) -> None:
        self._actual, self._split_k = actual, split_k

    def apply_block_scaled_mm(
        self, A: torch.Tensor, B: torch.Tensor, As: torch.Tensor, Bs: torch.Tensor, *, out_dtype: torch.dtype
    ) -> torch.Tensor:
        return emulate_block_scaled_mm(
            A, B, As, Bs, out_dtype=out_dtype, arithmetic=self._actual, split_k=self._split_k
        )


@pytest.mark.parametrize(("split_k", "plan"), [(None, 9), (4, 4), (8, 8)])
def test_a_true_claim_is_explained_with_its_split(split_k: int | None, plan: int) -> None:
    record = judged(Emulating(split_k=split_k), "gemm/1x128-128x128/m7-n144-k1040/fp32/uniform-codes/s0")

    assert (record.verdict, record.measured and record.measured.plan) == ("passed", plan)


@pytest.mark.parametrize(
    "change",
    [
        {"fraction_bits": 12},
        {"fraction_bits": 14},
        {"group": 16},
        {"alignment": "nearest"},
        {"normalisation": "nearest"},
        {"promotion": 256},
        {"fused": False},
        {"scale_order": "a-then-b"},
    ],
    ids=str,
)
def test_every_other_arithmetic_is_told_from_the_declared_one(change: dict[str, Any]) -> None:
    other = replace(SM90, name="other", **change)
    record = judged(Emulating(actual=other), f"{RAGGED}/fp32/quantised-normal/s0")

    # Promoting every 256 applies the scale of another K block, too, which leaves the bound.
    expected = "out-of-bound" if "promotion" in change else "unexplained-bits"
    assert (record.verdict, record.reason) == ("failed", expected)
    assert record.measured is not None
    assert record.measured.plan is None


def test_a_pass_carries_its_numbers() -> None:
    line = judged(kernels.Reversed, f"{RAGGED}/fp32/uniform-codes/s0").to_json()

    assert line["kind"] == "case"
    assert (line["elements"], line["wrong"]) == (5 * 144, 0)
    assert 0 < line["err_over_bound"] < 1
    assert 0 < line["rel_diff"] < 1e-3
    assert len(line["input_digest"]) == len(line["output_digest"]) == 16
