"""The bit model against what real hardware returned, replayed on any CPU."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from cases.operands import build_operands
from cases.recordings import Provenance, Recording, RecordingError, load_recordings, recorded_libraries, save_recordings
from cases.recordings.store import FOLDER, pack
from conformance import recorded
from conformance.diagnosis.variants import variations
from conformance.errors import UsageError
from conformance.request import Request
from conformance.session import Session
from reference import SM90, Arithmetic, emulate_block_scaled_mm, infer_split_k
from reference.splitk import same_bits

RECORDINGS = [recording for _, recordings in load_recordings() for recording in recordings]
PARAMETERS = ("group", "fraction_bits", "alignment", "normalisation", "promotion", "scale_order", "fused")


def replayed(recording: Recording, arithmetic: Arithmetic = SM90, *, plan: int | None = None) -> torch.Tensor:
    problem = recording.case.problem
    operands = recording.operands()
    return emulate_block_scaled_mm(
        *operands.tensors,
        recipe=problem.recipe,
        out_dtype=problem.out_dtype,
        arithmetic=arithmetic,
        split_k=plan or recording.plan,
    )


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda r: f"{r.backend}/{r.id}")
def test_the_model_replays_every_recorded_bit(recording: Recording) -> None:
    assert bool(same_bits(replayed(recording), recording.tensor()).all())


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_every_other_value_of_a_parameter_breaks_a_recording(parameter: str) -> None:
    pinning = [r for r in RECORDINGS if parameter in r.pins and r.case.family.name != "special-values"]
    recording = min(pinning, key=lambda r: r.case.problem.macs)

    for other in variations(SM90, recording.case.problem.recipe)[parameter]:
        assert not same_bits(replayed(recording, other), recording.tensor()).all(), other


@pytest.mark.parametrize("recipe", ["1x128-128x128", "128x128-1x128", "1x128-1x128"])
def test_the_scale_order_of_each_recipe_is_pinned(recipe: str) -> None:
    assert any("scale_order" in r.pins and r.case.problem.recipe == recipe for r in RECORDINGS)


def test_the_split_is_pinned() -> None:
    recording = min((r for r in RECORDINGS if r.plan != r.case.problem.k_blocks), key=lambda r: r.case.problem.macs)
    operands = recording.operands().tensors

    fit = infer_split_k(*operands, recording.tensor())

    assert (fit.plan, fit.alternatives) == (recording.plan, ())
    assert not same_bits(replayed(recording, plan=recording.case.problem.k_blocks), recording.tensor()).all()


def test_recordings_cover_recipes_dtypes_formats_and_special_values() -> None:
    problems = [r.case.problem for r in RECORDINGS]

    assert {p.recipe for p in problems} == {"1x128-128x128", "128x128-1x128", "1x128-1x128"}
    assert {p.out for p in problems} == {"bf16", "fp16", "fp32"}
    assert {(p.a, p.b) for p in problems} == {("e4m3fn", "e4m3fn"), ("e5m2", "e4m3fn"), ("e4m3fn", "e5m2")}
    assert any(p.k % 128 for p in problems)
    assert Counter(r.case.family.name for r in RECORDINGS)["special-values"] == 9


def test_the_recorded_special_values_are_the_known_ones() -> None:
    """Element by element: code a, code b, scale A, scale B, float32 result."""
    recording = next(r for r in RECORDINGS if r.id == "gemm/1x128-1x128/m104-n112-k128/fp32/special-values/s0")
    operands = build_operands(recording.case)
    out = recording.tensor()

    def result(a: float, b: float, sa: float, sb: float) -> float:
        rows = _where(operands.A[:, 0].float(), a) & _where(operands.As[:, 0], sa)
        cols = _where(operands.B[:, 0].float(), b) & _where(operands.Bs[:, 0], sb)
        return float(out[rows][:, cols][0, 0])

    nan, inf = float("nan"), float("inf")
    assert str(result(nan, 1, 1, 1)) == str(result(nan, 0, 1, 1)) == str(result(1, 1, nan, 1)) == "nan"
    assert str(result(0, 1, inf, 1)) == str(result(1, 1, inf, 0)) == "nan"
    assert (result(1, 1, inf, 1), result(448, 448, 3e38, 1)) == (inf, inf)
    assert result(2**-9, 2**-9, 1, 1) == 2**-18
    assert result(1, 1, 1e-40, 1) == 9.99994610111476e-41
    assert result(1, 1, 1e-45, 1) == 1.401298464324817e-45
    assert (result(1, 1, 1e-30, 1e-30), result(1, 1, 1e30, 1e30)) == (0.0, inf)


def _where(values: torch.Tensor, value: float) -> torch.Tensor:
    wanted = torch.tensor(value, dtype=torch.float32)
    return values.isnan() if value != value else values == wanted


def test_recordings_are_small_and_say_where_they_come_from() -> None:
    assert 0 < sum(file.stat().st_size for file in FOLDER.glob("*.json")) < 4 << 20
    assert ("sm90", "13.1.0.3") in recorded_libraries()
    for provenance, _ in load_recordings():
        assert all(vars(provenance).values())


def test_a_recording_survives_the_file(tmp_path: Path) -> None:
    output = torch.tensor([[1.5, float("nan")]], dtype=torch.bfloat16)
    recording = Recording("gemm/1x128-128x128/m1-n2-k16/bf16/uniform-codes/s0", "b", "d", pack(output), 1, ("fused",))
    provenance = Provenance("gpu", "sm90", "1", "2", "3", "2026-01-01", "conformance record x")
    save_recordings(tmp_path / "one.json", provenance, [recording])

    ((read_provenance, (read,)),) = load_recordings(tmp_path)

    assert (read_provenance, read) == (provenance, recording)
    assert bool(same_bits(read.tensor(), output).all())
    assert replace(read, output="") != recording


SMALLEST = min(RECORDINGS, key=lambda r: r.case.problem.macs)


def test_a_recording_of_other_operands_is_not_replayed() -> None:
    with pytest.raises(RecordingError, match=rf"with operands of digest '0000', .*{SMALLEST.input_digest}"):
        replace(SMALLEST, input_digest="0000").operands()
    with pytest.raises(RecordingError, match="record it anew"):
        replace(SMALLEST, seed=SMALLEST.seed + 1).operands()


@pytest.mark.parametrize("output", ["", "%", "AAAA", pack(torch.zeros(3)), SMALLEST.output[:-8]])
def test_bytes_that_are_no_output_are_one_sentence(output: str) -> None:
    with pytest.raises(RecordingError, match="has no output"):
        replace(SMALLEST, output=output).tensor()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("schema"), "it has no 'schema'"),
        (lambda d: d.update(schema=2), "its schema is 2, not 1"),
        (lambda d: d["provenance"].pop("cublas"), "'cublas'"),
        (lambda d: d["provenance"].update(arch=None), "None is no arch"),
        (lambda d: d.update(recordings={"id": 1}), "cannot be read"),
        (lambda d: d["recordings"][0].update(id="gemm/x"), "'gemm/x' is no case id"),
        (lambda d: d["recordings"][0].update(seed="0"), "'0' is no seed"),
        (lambda d: d["recordings"][0].update(more=1), "'more'"),
    ],
)
def test_a_file_that_is_no_recordings_is_one_sentence(
    change: Callable[[Any], Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = json.loads(min(FOLDER.glob("*.json")).read_text(encoding="utf-8"))
    document["recordings"] = document["recordings"][:1]
    change(document)
    (tmp_path / "one.json").write_text(json.dumps(document), encoding="utf-8")

    with pytest.raises(RecordingError) as caught:
        load_recordings(tmp_path)
    assert said in str(caught.value)
    assert str(caught.value).startswith("the recordings in 'one.json' cannot be read (")


@pytest.mark.parametrize("text", ["", "[]", "{", "null", "\ud800".encode("utf-8", "surrogatepass"), "[" * 100_000])
def test_a_text_that_is_no_recordings_is_one_sentence(text: str | bytes, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(text.encode() if isinstance(text, str) else text)

    with pytest.raises(RecordingError, match="take the file out of "):
        load_recordings(tmp_path)


def test_no_session_begins_with_recordings_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RecordingError("the recordings in 'x.json' cannot be read")

    monkeypatch.setattr(recorded, "recorded_libraries", broken)
    with pytest.raises(UsageError, match=r"'x\.json' cannot be read"):
        Session.open(Request(device="cpu", cases=(SMALLEST.id,)))
