"""Malformed operands: a kernel that takes them is wrong unless it takes them in the one sense that they have."""

from __future__ import annotations

import kernels
import pytest
import torch
from torch import Tensor

from cases import parse_case
from cases.scenarios import SCENARIOS
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.execute import run_case
from conformance.faults import FAULTS
from conformance.probe import probe
from conformance.scenarios.malformed import MALFORMED
from conformance.verdict import CaseRecord

CPU = torch.device("cpu")
REST = "1x128-128x128/m5-n144-k400/fp32/tagged-integers/s0"
ACCEPTED_BY = {
    "unequal-k": "accepts-unequal-k",
    "as-short": "accepts-short-a-scales",
    "bs-short": "accepts-short-b-scales",
    "as-transposed": "a-scales-counted-only",
    "bs-per-column": "accepts-b-scale-per-row",
    "scales-int32": "accepts-integer-scales",
    "scales-float64": "accepts-double-scales",
    "codes-as-bytes": "accepts-bytes",
}


def judged(subject: object, name: str) -> CaseRecord:
    backend = Backend(subject, spec="test")
    return run_case(Assignment.of(parse_case(f"malformed/{name}/{REST}"), backend, probe(CPU)), seed=0, device=CPU)


class Lenient:
    """Right, and generous: it takes other dtypes of scales and uint8 containers for what they hold."""

    name = "lenient"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        a, b = (x.view(torch.float8_e4m3fn) if x.dtype == torch.uint8 else x for x in (A, B))
        return kernels.Reversed().apply_block_scaled_mm(a, b, As.float(), Bs.float(), out_dtype=out_dtype)


class Unchecking(Lenient):
    name = "unchecking"
    capabilities = {"operand_checks": False}  # noqa: RUF012


def test_every_malformed_scenario_is_built() -> None:
    assert set(MALFORMED) == set(ACCEPTED_BY) == {s.name for s in SCENARIOS.values() if s.kind == "malformed"}


@pytest.mark.parametrize(("name", "fault"), ACCEPTED_BY.items())
def test_each_catches_the_kernel_that_accepts_it_and_no_other(name: str, fault: str) -> None:
    for other in ACCEPTED_BY.values():
        record = judged(FAULTS[other].build(), name)
        expected = "failed" if other == fault else "rejected"

        # One that casts is right in the one sense that there is.
        assert record.verdict == expected or (other, name, record.verdict) == (
            "accepts-integer-scales",
            "scales-float64",
            "passed",
        )


@pytest.mark.parametrize("name", ["scales-int32", "scales-float64", "codes-as-bytes"])
def test_operands_taken_in_their_one_sense_are_right(name: str) -> None:
    assert (judged(Lenient(), name).verdict, judged(Lenient(), name).expected) == ("passed", "right or refused")


def test_a_product_of_what_has_none_is_a_failure() -> None:
    record = judged(FAULTS["accepts-unequal-k"].build(), "unequal-k")

    assert (record.reason, record.expected) == ("accepted", "refuse")
    assert record.detail == "a result came where a refusal was owed"


def test_a_kernel_that_leaves_checks_to_its_caller_says_so() -> None:
    record = judged(Unchecking(), "unequal-k")

    assert (record.verdict, record.reason) == ("unsupported", "unchecking declares no operand checks")
