"""The bit model against what real hardware returned, replayed on any CPU."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from cases.operands import build_operands
from cases.recordings import Provenance, Recording, load_recordings, recorded_libraries, save_recordings
from cases.recordings.store import FOLDER, pack
from conformance.diagnosis.variants import variations
from reference import SM90, Arithmetic, emulate_block_scaled_mm, infer_split_k
from reference.splitk import same_bits

RECORDINGS = [recording for _, recordings in load_recordings() for recording in recordings]
PARAMETERS = ("group", "fraction_bits", "alignment", "normalisation", "promotion", "scale_order", "fused")


def replayed(recording: Recording, arithmetic: Arithmetic = SM90, *, plan: int | None = None) -> torch.Tensor:
    problem = recording.case.problem
    operands = build_operands(recording.case, seed=recording.seed)
    return emulate_block_scaled_mm(
        *operands.tensors,
        recipe=problem.recipe,
        out_dtype=problem.out_dtype,
        arithmetic=arithmetic,
        split_k=plan or recording.plan,
    )


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda r: f"{r.backend}/{r.id}")
def test_the_model_replays_every_recorded_bit(recording: Recording) -> None:
    assert build_operands(recording.case, seed=recording.seed).digest == recording.input_digest
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
    operands = build_operands(recording.case, seed=recording.seed).tensors

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
