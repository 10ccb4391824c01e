"""How small a fault the tiers detect, beside what the field's metrics accept."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from conformance import sensitivity
from conformance.errors import UsageError
from conformance.sensitivity import EPSILONS, Threshold, document, measure, render
from conformance.sensitivity_judges import JUDGES, Judge
from conformance.sensitivity_picture import GAP, draw_sensitivity, spread
from conformance.sensitivity_subject import KINDS, Subject, typical_cell
from conformance.sensitivity_table import amount, cells, notes

SIZES = (256, 384)
LOCAL = ("element", "row", "tile")
TIERS = tuple(judge.name for judge in JUDGES if judge.is_tier)
BY_NAME = {judge.name: judge for judge in JUDGES}
STEP = EPSILONS[1] / EPSILONS[0]
ULP = 2.0**-7
"""The largest relative distance of neighbours in bfloat16."""


@pytest.fixture(scope="module")
def found() -> list[Threshold]:
    return measure("cpu", SIZES)


@pytest.fixture(scope="module")
def told(found: list[Threshold]) -> dict[str, Any]:
    return document(found, "cpu")


def epsilon(found: list[Threshold], kind: str, judge: str, size: int = SIZES[-1]) -> float:
    """What ``judge`` detects; infinite for never."""
    (threshold,) = (t for t in found if (t.kind, t.judge, t.size) == (kind, judge, size))
    return float("inf") if threshold.epsilon is None else threshold.epsilon


def subject_of(judge: Judge, size: int, out: str = "bf16") -> Subject:
    return Subject(judge.family, size, out, torch.device("cpu"))


@pytest.mark.parametrize("out", ["bf16", "fp16", "fp32"])
@pytest.mark.parametrize("judge", JUDGES, ids=lambda judge: judge.name)
def test_no_judge_alarms_at_an_honest_result(judge: Judge, out: str) -> None:
    subject = subject_of(judge, 160, out)

    for kind in KINDS:
        honest = subject.disturbed(kind, 0.0)
        assert torch.equal(honest, subject.honest[0])
        assert not judge.alarms(subject, honest)
        assert judge.confirms is None or not judge.confirms(subject, honest)


@pytest.mark.parametrize("size", [64, *SIZES])
@pytest.mark.parametrize("name", ["exact", "bits"])
def test_one_element_that_is_one_unit_off_is_detected(name: str, size: int) -> None:
    judge = BY_NAME[name]
    subject = subject_of(judge, size)

    for place in ((0, 0), (31, 17), (-1, -1)):
        out = subject.honest[0].clone()
        out.view(torch.int16)[place] += 1
        assert judge.alarms(subject, out)
        assert judge.confirms is None or judge.confirms(subject, out)


@pytest.mark.parametrize(("judge", "accepted"), [("rel_diff", 1e-3), ("calc_diff", 4.58e-2)])
@pytest.mark.parametrize("size", SIZES)
def test_a_gain_is_accepted_up_to_the_closed_form(
    found: list[Threshold], judge: str, accepted: float, size: int
) -> None:
    """A gain g gives a rel_diff of g and a calc_diff of g² / (1 + (1 + g)²)."""
    assert accepted < epsilon(found, "gain", judge, size) < accepted * STEP * 1.01


def test_cosine_never_sees_a_gain_and_every_tier_does(found: list[Threshold]) -> None:
    assert epsilon(found, "gain", "cosine") == float("inf")
    assert max(epsilon(found, "gain", tier) for tier in TIERS) < 2 * ULP


def test_a_tile_hides_from_rel_diff_the_better_the_larger_the_result_and_from_no_tier(found: list[Threshold]) -> None:
    small, large = SIZES

    def growth(judge: str) -> float:
        return epsilon(found, "tile", judge, large) / epsilon(found, "tile", judge, small)

    assert growth("rel_diff") > 1.5
    assert growth("calc_diff") > 1.2
    assert growth("bound") < 1.2
    assert max(epsilon(found, "tile", tier, large) for tier in TIERS) < ULP


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", LOCAL)
def test_no_local_fault_of_two_units_escapes_a_tier(found: list[Threshold], kind: str, size: int) -> None:
    assert max(epsilon(found, kind, tier, size) for tier in ("exact", "bits")) <= ULP
    assert epsilon(found, kind, "bound", size) <= 2 * ULP
    assert epsilon(found, kind, "rel_diff", size) > ULP / 2


def test_a_disturbance_stays_in_its_cell_and_hits_one_of_median_magnitude() -> None:
    result = torch.arange(1.0, 17.0).reshape(4, 4)
    assert typical_cell(result, 1, 1) == (slice(1, 2), slice(3, 4))
    assert typical_cell(result, 1, 4) == (slice(1, 2), slice(0, 4))
    assert typical_cell(result[:, :3], 2, 2) == (slice(0, 2), slice(0, 2))

    subject = subject_of(BY_NAME["rel_diff"], 256)
    changed = {kind: int((subject.disturbed(kind, 1.0) != subject.honest[0]).sum()) for kind in KINDS}
    assert changed == {"gain": 256**2, "bias": 256**2, "element": 1, "row": 256, "tile": 128**2}


def test_a_tier_that_contradicts_its_search_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    blind = replace(BY_NAME["bits"], confirms=lambda subject, out: False)
    monkeypatch.setattr(sensitivity, "JUDGES", (blind,))

    with pytest.raises(AssertionError, match="the tier bits differs from its search at gain"):
        measure("cpu", [16])


def test_where_the_tier_was_too_slow_to_be_asked_the_threshold_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensitivity, "JUDGES", (BY_NAME["bits"],))
    monkeypatch.setattr(sensitivity, "CONFIRMED_MACS", {"cpu": 1})

    found = measure("cpu", [16])
    assert not any(threshold.confirmed for threshold in found)
    assert "bits at 16: compared with bits emulated once" in list(notes(document(found, "cpu")))[-1]


def test_wrong_arguments_are_refused() -> None:
    for sizes in ([], [0, 256]):
        with pytest.raises(UsageError, match="sizes are outputs a side"):
            measure("cpu", sizes)
    with pytest.raises(UsageError, match="did you mean 'bf16'"):
        measure("cpu", [16], out="bf61")


def test_the_document_is_json_and_the_table_says_the_same(
    told: dict[str, Any], found: list[Threshold], capsys: pytest.CaptureFixture[str]
) -> None:
    again = json.loads(json.dumps(told))
    assert [Threshold(**threshold) for threshold in again["thresholds"]] == found
    assert len(found) == len(KINDS) * len(JUDGES) * len(SIZES)

    render(again)
    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for kind in KINDS:
        start = printed.index(f"{kind}: {KINDS[kind]}, stored as bf16") + 2
        rows = [f"{judge.name} {' '.join(cells(told, kind, judge.name, 'bf16'))}" for judge in JUDGES]
        assert printed[start : start + len(JUDGES)] == rows


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "never"),
        (2.0**-30, "≤ 0.93 ppb"),
        (3.2e-8, "32 ppb"),
        (7.3e-5, "73 ppm"),
        (1e-3, "0.1 %"),
        (0.35, "35 %"),
        (1.0, "1x"),
        (1.4142, "1.4x"),
        (609.2, "609x"),
    ],
)
def test_amounts_are_said_in_units_that_people_read(value: float | None, said: str) -> None:
    assert amount(value, {"smallest_tried": EPSILONS[0]}) == said


def test_the_picture_is_the_same_every_time_and_names_kinds_and_judges(told: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    first, second = tmp_path / "first.svg", tmp_path / "second.svg"
    draw_sensitivity(told, first)
    draw_sensitivity(told, second)

    drawn = first.read_text(encoding="utf-8")
    assert drawn == second.read_text(encoding="utf-8")
    assert len(drawn) < 80_000
    assert "never" in drawn
    assert all(drawn.count(f">{judge.name}</text>") == len(KINDS) + 1 for judge in JUDGES)
    assert all(f">{kind}</text>" in drawn for kind in KINDS)


@pytest.mark.parametrize("places", [[0.5], [0.0, 0.0, 0.0], [0.2, 0.21, 0.22, 0.9], [0.4, 0.5, 0.5, 0.56], [1.0] * 7])
def test_labels_keep_their_order_and_their_distance(places: list[float]) -> None:
    spaced = spread(places)

    assert all(later - earlier >= GAP - 1e-9 for earlier, later in pairwise(spaced))
    assert spaced[0] >= -1e-9
    assert spaced[-1] <= 1 + 1e-9
