"""What happens when a library comes that no recording exists for, as docs/recordings.md describes it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

import conformance.assignment
from cases import parse_case
from conformance.backends.protocol import Backend
from conformance.conclude import conclude
from conformance.execute import Assignment, run_case
from conformance.probe import Platform
from conformance.verdict import CaseRecord
from reference import SM90, Arithmetic, emulate_block_scaled_mm

HOPPER = Platform("cuda", "sm90", "2.11.0+cu130", "13.0")
CASE = parse_case("gemm/1x128-128x128/m5-n144-k400/fp32/uniform-codes/s0")
NEWER = replace(SM90, name="newer", fraction_bits=14)


class Library:
    """torch's v2 on a Hopper GPU, simulated: its arithmetic is a parameter."""

    name = "library"
    api = "v2"

    def __init__(self, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        return emulate_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype, arithmetic=self._arithmetic)


def judged(arithmetic: Arithmetic, version: str, monkeypatch: pytest.MonkeyPatch) -> CaseRecord:
    monkeypatch.setattr(conformance.assignment, "cublas_version", lambda: version)
    backend = Backend(Library(arithmetic), spec="test")
    return run_case(Assignment.of(CASE, backend, HOPPER), seed=0, device=torch.device("cpu"))


@pytest.mark.parametrize(
    ("arithmetic", "version", "verdict", "reason", "noted"),
    [
        (SM90, "13.1.0.3", "passed", "", "sm90"),
        (NEWER, "13.1.0.3", "failed", "unexplained-bits", "sm90"),
        (SM90, "99.0", "passed", "", "sm90"),
        (NEWER, "99.0", "passed", "", "unconfirmed"),
    ],
)
def test_bits_are_claimed_where_recorded_and_expected_elsewhere(
    arithmetic: Arithmetic, version: str, verdict: str, reason: str, noted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = judged(arithmetic, version, monkeypatch)

    assert (record.verdict, record.reason) == (verdict, reason)
    assert record.measured is not None
    assert record.measured.arithmetic == noted


def test_unconfirmed_results_are_counted_in_the_headline(monkeypatch: pytest.MonkeyPatch) -> None:
    line = judged(NEWER, "99.0", monkeypatch).to_json()

    assert conclude([line]).sentence == "CONFORMS: 1 passed (1 of them in an arithmetic that no recording confirms)"
