"""Checks that are kept without a seeded fault of their own do what they are kept for."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from conformance import evidence
from conformance.faults import FAULTS
from conformance.faults.kept import KEPT
from conformance.faults.trying import kills

REST = "1x128-128x128/m83-n272-k640/fp32/tagged-integers/s1"


def put_into_oracle(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the seeded fault called ``name`` say what is right."""
    kernel = FAULTS[name].build()

    def mistaken(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, recipe: str) -> Tensor:
        return kernel.apply_block_scaled_mm(A, B, As, Bs, out_dtype=torch.float32, recipe=recipe).double()

    monkeypatch.setattr(evidence, "exact_block_matmul", mistaken)
    monkeypatch.setattr(evidence, "_by_inputs", {})


@pytest.mark.parametrize("check", KEPT)
def test_a_kept_relation_shows_a_mistake_that_the_oracle_shares(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = KEPT[check].needs
    put_into_oracle(name, monkeypatch)

    assert kills([f"gemm/{REST}"], [name], "cpu") == {}
    assert kills([f"{check}/{REST}"], [name], "cpu")[name].reason == "results-differ"


@pytest.mark.parametrize("check", KEPT)
def test_without_a_mistake_nothing_is_shown(check: str) -> None:
    assert kills([f"{check}/{REST}"], ["block-loop"], "cpu") == {}
