"""Seeded faults against checks: what is counted, and that a fault and a right kernel end on the right side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from cases import parse_case
from conformance.faults import FAULTS, HONEST
from conformance.faults import matrix as matrices
from conformance.faults.matrix import Matrix
from conformance.faults.told import document, render, write
from conformance.faults.trying import Kill, kills

EXACT = "gemm/1x128-128x128/m5-n144-k400/fp32/tagged-integers/s0"
BOUND = "gemm/1x128-128x128/m5-n144-k400/fp32/uniform-codes/s0"
SURROUNDINGS = "state/surroundings/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"


def test_a_fault_is_killed_by_the_first_case_that_shows_it_and_right_kernels_by_none() -> None:
    found = kills([EXACT, SURROUNDINGS], ["k-tail-lost", "rng-advanced", *HONEST], "cpu")

    assert found == {
        "k-tail-lost": Kill("wrong-values", EXACT),
        "rng-advanced": Kill("surroundings-changed", SURROUNDINGS),
    }


def test_a_fault_that_changes_settings_spoils_no_other_verdict() -> None:
    before = torch.get_default_dtype()
    kills([EXACT], ["default-dtype-changed", "block-loop"], "cpu")

    assert torch.get_default_dtype() == before


def by_hand() -> Matrix:
    found = Matrix(("tagged-integers", "uniform-codes", "one-nan"), ("lane-lost", "rng-advanced", "element-zeroed"))
    found.enter("tagged-integers", {"lane-lost": Kill("wrong-values", EXACT), "element-zeroed": Kill("x", EXACT)})
    found.enter("uniform-codes", {"lane-lost": Kill("out-of-bound", BOUND), "block-loop": Kill("raised", BOUND)})
    return found


def test_survivors_idle_checks_alarms_and_lone_killers_are_told_apart() -> None:
    found = by_hand()

    assert (found.survivors, found.idle, found.alarms) == (["rng-advanced"], ["one-nan"], ["block-loop"])
    assert found.kills_of("uniform-codes") == ["lane-lost"]
    assert (found.only("tagged-integers"), found.only("uniform-codes")) == (["element-zeroed"], [])


def test_the_table_and_the_document_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    found = by_hand()
    render(found)
    told = document(found)

    printed = capsys.readouterr().out
    assert "2 of 3 faults killed" in printed
    assert "survivors: rng-advanced\nidle checks: one-nan\n" in printed
    assert "without a reason: uniform-codes\nalarms: block-loop\n" in printed
    assert told["faults"]["lane-lost"]["killed_by"]["uniform-codes"] == {"reason": "out-of-bound", "case": BOUND}
    assert told["checks"]["tagged-integers"] == {
        "kills": ["lane-lost", "element-zeroed"],
        "only": ["element-zeroed"],
        "kept": None,
    }


@pytest.mark.parametrize("deeper", [False, True])
def test_standard_is_asked_where_quick_leaves_a_survivor(deeper: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """bfloat16 scales show in no ternary data under small integers, and in odd scales at once."""
    plans = {"quick": [EXACT], "standard": [EXACT, EXACT.replace("tagged-integers", "odd-scales")]}
    monkeypatch.setattr(matrices, "plan", lambda profile: tuple(map(parse_case, plans[profile])))
    monkeypatch.setattr(matrices, "FAULTS", {name: FAULTS[name] for name in ("bf16-scales", "k-tail-lost")})

    found = matrices.matrix(1, deeper=deeper)
    assert found.survivors == ([] if deeper else ["bf16-scales"])
    assert found.checks == (("tagged-integers", "odd-scales") if deeper else ("tagged-integers",))
    assert (found.alarms, found.idle) == ([], [])


def test_a_reduced_form_asks_for_idle_checks_and_alarms_alone() -> None:
    found = Matrix(("tagged-integers",), ("lane-lost", "rng-advanced"), complete=False)
    assert not found.is_proof

    found.enter("tagged-integers", {"lane-lost": Kill("wrong-values", EXACT)})
    assert found.is_proof
    found.enter("tagged-integers", {"block-loop": Kill("wrong-values", EXACT)}, as_declared=True)
    assert not found.is_proof


def test_a_fault_that_only_a_declared_arithmetic_shows_counts_as_killed() -> None:
    found = Matrix(("subnormal-scales",), ("subnormal-scale-flushed",))
    found.enter("subnormal-scales", {"subnormal-scale-flushed": Kill("unexplained-bits", EXACT)}, as_declared=True)

    assert (found.survivors, found.idle, found.unexplained, found.is_proof) == ([], [], [], True)
    assert found.only("subnormal-scales") == ["subnormal-scale-flushed"]


@pytest.mark.parametrize("name", [name for name, variant in HONEST.items() if variant.keeps_arithmetic])
def test_right_kernels_that_keep_the_arithmetic_give_every_bit_of_a_declared_one(name: str) -> None:
    ids = [
        "gemm/1x128-128x128/m64-n192-k384/bf16/special-values/s0",
        "gemm/1x128-128x128/m4-n64-k400/fp32/uniform-codes/s1",
    ]

    assert kills(ids, [name], "cpu", as_declared=True) == {}


def test_declared_faults_are_seen_in_one_bit_and_undeclared_ones_where_it_is_illegal() -> None:
    ids = ["gemm/1x128-128x128/m83-n272-k640/fp32/subnormal-scales/s0"]

    assert not kills(ids, ["subnormal-scale-flushed"], "cpu")
    assert kills(ids, ["subnormal-scale-flushed"], "cpu", as_declared=True)


def test_what_is_known_is_kept_step_by_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "plan", lambda profile: (parse_case(EXACT),))
    monkeypatch.setattr(matrices, "FAULTS", {"k-tail-lost": FAULTS["k-tail-lost"]})
    kept: list[dict[str, Any]] = []

    def keep(found: Matrix) -> None:
        write(found, tmp_path / "matrix.json")
        kept.append(json.loads((tmp_path / "matrix.json").read_text()))

    assert matrices.matrix(1, keep=keep).is_proof
    assert [told["ended"] for told in kept] == [False] * (len(kept) - 1) + [True]
    assert [told["proof"] for told in kept] == [False] * (len(kept) - 1) + [True]
    assert "tagged-integers" in kept[0]["faults"]["k-tail-lost"]["killed_by"]
    assert [path.name for path in tmp_path.iterdir()] == ["matrix.json"]
