"""Checks that are kept without a seeded fault of their own do what they are kept for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from cases import Case, parse_case
from conformance import evidence
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.evidence import evidence_for
from conformance.execute import run_case
from conformance.faults import FAULTS
from conformance.faults.kept import KEPT
from conformance.faults.trying import kills
from conformance.probe import probe
from conformance.scenarios.states import STATES
from conformance.trial import Trial
from conformance.verdict import CaseRecord

REST = "1x128-128x128/m83-n272-k640/fp32/tagged-integers/s1"


def put_into_oracle(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the seeded fault called ``name`` say what is right."""
    kernel = FAULTS[name].build()

    def mistaken(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, recipe: str) -> Tensor:
        return kernel.apply_block_scaled_mm(A, B, As, Bs, out_dtype=torch.float32, recipe=recipe).double()

    monkeypatch.setattr(evidence, "exact_block_matmul", mistaken)
    monkeypatch.setattr(evidence, "_by_inputs", {})


RELATIONS = [check for check in KEPT if check.startswith("relation")]
CPU = torch.device("cpu")
MODES = {"state/compiled": None, "state/compiled-autotune": "max-autotune-no-cudagraphs"}


@pytest.mark.parametrize("check", RELATIONS)
def test_a_kept_relation_shows_a_mistake_that_the_oracle_shares(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = KEPT[check].needs
    put_into_oracle(name, monkeypatch)

    assert kills([f"gemm/{REST}"], [name], "cpu") == {}
    assert kills([f"{check}/{REST}"], [name], "cpu")[name].reason == "results-differ"


@pytest.mark.parametrize("check", RELATIONS)
def test_without_a_mistake_nothing_is_shown(check: str) -> None:
    assert kills([f"{check}/{REST}"], ["block-loop"], "cpu") == {}


def assigned(kernel: type, case: Case) -> Assignment:
    return Assignment.of(case, Backend(kernel(), spec="test"), probe(CPU))


def judged(kernel: type, case: Case) -> CaseRecord:
    return run_case(assigned(kernel, case), seed=0, device=CPU)


def compiler_wrong_in(mode: str | None) -> Callable[..., Callable[..., object]]:
    """A `torch.compile` that tells what it calls in ``mode`` alone that it is being compiled."""

    def compiled(function: Callable[..., object], **options: object) -> Callable[..., object]:
        def called(*args: object) -> object:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(torch.compiler, "is_compiling", lambda: options.get("mode") == mode)
                return function(*args)

        return called

    return compiled


def test_nothing_else_is_kept_than_what_is_tried_here() -> None:
    assert set(KEPT) == {*RELATIONS, *MODES, "state/same-pointers"}


def test_contents_behind_a_pointer_need_no_stream_to_be_shown() -> None:
    name = KEPT["state/same-pointers"].needs
    record = judged(FAULTS[name].build, parse_case(f"state/same-pointers/{REST}"))

    assert kills([f"gemm/{REST}", f"state/churn/{REST}", f"state/kept-results/{REST}"], [name], "cpu") == {}
    assert record.reason == "wrong-values"
    assert record.detail.startswith("with other data and scales behind the same pointers")


@pytest.mark.parametrize("wrong", MODES)
def test_a_mode_that_compiles_wrongly_is_shown_by_its_own_check_alone(
    wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assignment = assigned(FAULTS[KEPT[wrong].needs].build, parse_case(f"gemm/{REST}"))
    trial = Trial(assignment, evidence_for(assignment.case, seed=0, device=CPU))
    monkeypatch.setattr(torch, "compile", compiler_wrong_in(MODES[wrong]))

    failed = [
        check for check in MODES if STATES[check.removeprefix("state/")](trial).judgement.reason == "results-differ"
    ]

    assert failed == [wrong]
