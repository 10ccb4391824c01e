"""Batches of generated cases: quiet on right kernels, and a smallest case that reproduces a wrong one."""

from __future__ import annotations

import kernels
import torch

from cases import parse_case
from cases.strategies import EXAMPLES, Batch, parse_batch
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.deviations.ledger import Ledger
from conformance.execute import run_case
from conformance.generated import Drawing, run_batch
from conformance.probe import Platform
from conformance.verdict import CaseRecord

PLATFORM = Platform("cpu", "x86_64", torch.__version__)
CPU = torch.device("cpu")


def drawn(kernel: type, seed: int = 0) -> CaseRecord:
    return run_batch(Drawing(Batch(seed), Backend(kernel(), spec="test"), PLATFORM), Ledger(), seed=0, device=CPU)


def test_a_right_kernel_passes_a_batch() -> None:
    record = drawn(kernels.DequantiseFirst)

    assert (record.verdict, record.id, record.computed) == ("passed", "generated/s0", True)
    assert record.examples == EXAMPLES


def test_a_wrong_kernel_is_shrunk_to_a_case_that_fails_alone() -> None:
    record = drawn(kernels.NextScale)

    case = parse_case(record.reproduce)
    alone = run_case(Assignment.of(case, Backend(kernels.NextScale(), spec="test"), PLATFORM), seed=0, device=CPU)
    assert (record.verdict, alone.verdict) == ("failed", "failed")
    assert (case.problem.m, case.problem.n, case.problem.k_blocks) == (1, 16, 2)


def test_the_id_of_a_batch_is_spelled_one_way() -> None:
    assert parse_batch("generated/s12") == Batch(12)
    assert parse_batch("generated/s012") is None
    assert parse_batch("gemm/s1") is None
