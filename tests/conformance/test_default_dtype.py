"""What the default dtype is, set by a project or left behind by a kernel, changes no operand and no verdict."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from kernels import Reversed

from cases import Case, plan
from cases.families import FAMILIES
from cases.operands import build_operands
from conformance import bands, execute
from conformance.assignment import Assignment
from conformance.backends.models import EmulatedSM90
from conformance.backends.protocol import Backend
from conformance.evidence import Evidence
from conformance.execute import run_case
from conformance.probe import probe
from conformance.verdict import CaseRecord

CPU = torch.device("cpu")
BY_SIZE = sorted(plan("standard"), key=lambda case: -case.problem.macs)
BY_CHECK = {case.check: case for case in BY_SIZE if not case.scenario.name.startswith("compiled")}
BY_FAMILY = {case.family.name: case for case in BY_SIZE}


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def judged(kernel: type, case: Case) -> CaseRecord:
    return run_case(Assignment.of(case, Backend(kernel(), spec="test"), probe(CPU)), seed=0, device=CPU)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands, what is known of them and guard bands are kept from case to case."""
    monkeypatch.setattr(bands, "_guard_pages", bands._guard_pages.__wrapped__)
    monkeypatch.setattr(execute, "evidence_for", evidence_anew)


def evidence_anew(case: Case, *, seed: int, device: torch.device) -> Evidence:
    return Evidence(case.problem, build_operands(case, seed=seed, device=device))


def test_every_family_is_tried() -> None:
    assert set(BY_FAMILY) == set(FAMILIES)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("case", [*BY_CHECK.values(), *BY_FAMILY.values()], ids=lambda case: case.id)
def test_no_operand_and_no_verdict_changes(case: Case, dtype: torch.dtype) -> None:
    for kernel in (EmulatedSM90, Reversed):
        plain = judged(kernel, case)
        with default_dtype(dtype):
            record = judged(kernel, case)

        assert record.input_digest == plain.input_digest
        assert (record.verdict, record.reason, record.detail) == (plain.verdict, plain.reason, plain.detail)
        assert record.output_digest == plain.output_digest
