"""The field's tests re-created: they pass the honest kernel, and miss what their metrics and inputs cannot show."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from cases.stream import Stream
from conformance.faults import Fault, Kernel, Variant
from conformance.faults.kernel import Call
from conformance.peers import PEERS, Peer, Sample, record
from conformance.peers.census import Census, Row, census, count
from conformance.peers.inputs import normal
from conformance.peers.metrics import (
    calc_diff,
    close,
    cosine,
    mean_relative,
    relatively_equal,
    sqnr,
)
from conformance.peers.table import document, render
from conformance.pictures import draw_peers

CPU = torch.device("cpu")
GROSS = "scale-bytes-read-as-packed"
OUT_OF_REACH = "k-blocks-held-at-256"
"""A fault that shows beyond K = 32768, which no peer lists at its small size."""


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_passes_the_honest_kernel_and_catches_a_gross_fault(name: str) -> None:
    row = count(name, "small", [GROSS, OUT_OF_REACH], CPU)

    assert row == Row(name, "small", caught=(GROSS,), missed=(), invisible=(OUT_OF_REACH,), alarm=False)


@pytest.mark.parametrize("name", PEERS)
def test_shapes_fit_their_scales_and_the_large_one_is_no_smaller(name: str) -> None:
    peer = PEERS[name]
    m, n, k = peer.small
    sample = next(peer.samples("small", CPU))

    assert (sample.A.shape, sample.B.shape) == ((m, k), (n, k))
    assert (sample.As.shape, sample.Bs.shape) == ((m, -(-k // 128)), (-(-n // 128), -(-k // 128)))
    assert torch.Size(peer.large).numel() >= torch.Size(peer.small).numel()


@pytest.fixture(scope="module")
def matrix() -> Tensor:
    return normal(Stream("test", CPU), 1000, 64)


@pytest.mark.parametrize(("gain", "accepted"), [(1.045, True), (1.05, False)])
def test_calc_diff_accepts_a_gain_of_four_and_a_half_percent_and_rejects_five(
    matrix: Tensor, gain: float, accepted: bool
) -> None:
    assert (calc_diff(gain * matrix, matrix) < 1e-3) == accepted


@pytest.mark.parametrize(("gain", "accepted"), [(1.0009, True), (1.0011, False)])
def test_a_mean_relative_difference_accepts_a_gain_of_a_tenth_of_a_percent(
    matrix: Tensor, gain: float, accepted: bool
) -> None:
    assert (mean_relative(gain * matrix, matrix) < 1e-3) == accepted


@pytest.mark.parametrize("gain", [1e-3, 2.0, 448.0])
def test_cosine_accepts_any_factor(matrix: Tensor, gain: float) -> None:
    assert cosine(gain * matrix, matrix) > 0.999


@pytest.mark.parametrize(("gain", "accepted"), [(1.039, True), (1.041, False)])
def test_sqnr_of_28_db_is_a_gain_of_four_percent(matrix: Tensor, gain: float, accepted: bool) -> None:
    assert (sqnr(gain * matrix, matrix) >= 28) == accepted


@pytest.mark.parametrize(("lost", "accepted"), [(1, True), (4, False)])
def test_one_lost_row_of_a_thousand_is_within_the_limit_of_calc_diff(matrix: Tensor, lost: int, accepted: bool) -> None:
    out = matrix.clone()
    out[:lost] = 0

    assert (calc_diff(out, matrix) < 1e-3) == accepted


def test_atol_above_the_scale_of_the_result_accepts_zeros_and_never_nan(matrix: Tensor) -> None:
    small = 1e-6 * matrix

    assert close(torch.zeros_like(small), small, rtol=1e-3, atol=1e-3)
    assert not close(torch.full_like(small, torch.nan), small, rtol=1e-3, atol=1e-3)
    assert not close(small.bfloat16(), small, rtol=1.0, atol=1.0)


@pytest.mark.parametrize(
    ("actual", "accepted"), [(1.03, True), (1.05, False), (0.0, False), (-1.0, False), (torch.nan, False)]
)
def test_relative_equality_is_a_share_of_both_sides(actual: float, accepted: bool) -> None:
    assert relatively_equal(torch.tensor([actual]), torch.ones(1), epsilon=0.02, floor=1.0) == accepted


class _Doubled(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        return super().store(call, 2 * total)


class _OneBitOff(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        out = super().store(call, total)
        out.view(torch.int16)[0, 0] ^= 1
        return out


class _Raising(Kernel):
    def run(self, call: Call) -> Tensor:
        raise RuntimeError("no such kernel image")


class _Spoiling(Kernel):
    """Right, and leaves nothing of its operands and of a setting as it was."""

    def run(self, call: Call) -> Tensor:
        out = super().run(call)
        for operand in (call.A, call.B):
            operand.view(torch.uint8).zero_()
        call.As.zero_()
        call.Bs.zero_()
        torch.set_default_dtype(torch.float64)
        return out


class _Unwritten(Kernel):
    def store(self, call: Call, total: Tensor) -> Tensor:
        return call.unwritten()


class _SecondCallOff(_OneBitOff):
    def __init__(self) -> None:
        self.calls = 0

    def store(self, call: Call, total: Tensor) -> Tensor:
        self.calls += 1
        return super().store(call, total) if self.calls == 2 else Kernel.store(self, call, total)


def fates(kernels: dict[str, type[Kernel]], peer: str) -> Row:
    """The row of ``peer`` where seeded faults are these kernels instead, by the names of real ones."""

    def build(fault: Fault | Variant) -> Kernel:
        return kernels.get(fault.name, Kernel)()

    return count(peer, "small", kernels, CPU, build)


def test_caught_missed_and_invisible_are_told_apart() -> None:
    kernels = {"lane-lost": _Doubled, "lane-negated": _OneBitOff, "element-zeroed": Kernel, "bf16-scales": _Raising}
    row = fates(kernels, "vLLM, Triton")

    assert (row.caught, row.missed, row.invisible) == (
        ("lane-lost", "bf16-scales"),
        ("lane-negated",),
        ("element-zeroed",),
    )


def test_a_metric_that_knows_no_scale_misses_what_others_catch() -> None:
    assert fates({"lane-lost": _Doubled}, "FlashInfer, SM90").missed == ("lane-lost",)
    assert fates({"lane-lost": _Doubled}, "DeepGEMM").caught == ("lane-lost",)


def test_a_kernel_that_spoils_operands_and_settings_spoils_no_other_verdict() -> None:
    row = fates({"lane-lost": _Spoiling, "lane-negated": _Spoiling, "element-zeroed": Kernel}, "PyTorch")

    assert row.invisible == ("lane-lost", "lane-negated", "element-zeroed")
    assert not row.alarm
    assert torch.get_default_dtype() == torch.float32


def test_repeats_see_a_second_call_that_differs_and_single_calls_do_not() -> None:
    assert fates({"lane-lost": _SecondCallOff}, "LMDeploy").caught == ("lane-lost",)
    assert fates({"lane-lost": _SecondCallOff}, "vLLM, Triton").invisible == ("lane-lost",)


def ones(value: float) -> Sample:
    code = torch.ones(2, 128).to(torch.float8_e4m3fn)
    return Sample(code, code, torch.ones(2, 1), torch.ones(1, 1), torch.full((2, 2), value))


@pytest.mark.parametrize(("expected", "fate"), [(0.0, "missed"), (1.0, "caught")])
def test_memory_never_written_holds_what_the_peer_puts_there(
    monkeypatch: pytest.MonkeyPatch, expected: float, fate: str
) -> None:
    peer = Peer(
        "p",
        "",
        "",
        (2, 2, 128),
        (2, 2, 128),
        lambda *_: iter([ones(expected)]),
        lambda o, s: bool((o == s.reference).all()),
    )
    monkeypatch.setitem(PEERS, "p", peer)

    assert getattr(fates({"lane-lost": _Unwritten}, "p"), fate) == ("lane-lost",)


def test_a_peer_that_rejects_the_honest_kernel_is_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Peer(
        "p",
        "",
        "",
        (2, 2, 128),
        (2, 2, 128),
        lambda *_: iter([ones(127.0)]),
        lambda o, s: bool((o == s.reference).all()),
    )
    monkeypatch.setitem(PEERS, "p", wrong)
    found = census(["small"], device=CPU, peers=["p"], faults=["lane-lost"])

    assert found.alarms == ["p (small)"]


def test_samples_are_the_same_for_a_seed_and_others_for_another() -> None:
    first, again, other = (next(PEERS["aiter"].samples("small", CPU, seed)).A.float() for seed in (0, 0, 1))

    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_reference_of_the_same_unit_follows_that_unit() -> None:
    sample = next(PEERS["TransformerEngine"].samples("small", CPU))

    honest, doubled = sample.resolved(Kernel()).reference, sample.resolved(_Doubled()).reference
    assert torch.equal(doubled, 2 * honest)


def by_hand() -> Census:
    names = ("lane-lost", "lane-negated", "element-zeroed")
    return Census(
        (
            Row("DeepGEMM", "small", caught=names[:2], missed=names[2:], invisible=(), alarm=False),
            Row("DeepGEMM", "large", caught=(), missed=names, invisible=(), alarm=True),
            Row("vLLM, torch", "small", caught=names[:1], missed=(), invisible=names[1:], alarm=False),
        ),
        names,
        "cpu",
    )


def test_the_table_and_the_document_say_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    render(by_hand())
    told = document(by_hand())

    lines = capsys.readouterr().out.splitlines()
    for entry in told["peers"]:
        printed = next(line for line in lines if line.startswith(entry["name"])).removeprefix(entry["name"]).split()
        assert printed == [
            str(entry[size][fate]) for size in ("small", "large") for fate in ("caught", "missed", "invisible")
        ]
    assert lines[-1] == "3 faults on cpu; honest kernel rejected by: DeepGEMM (large)"
    assert told["peers"][0]["large"]["names"]["missed"] == ["lane-lost", "lane-negated", "element-zeroed"]


def test_one_listed_shape_stands_for_both_sizes() -> None:
    entry = document(by_hand())["peers"][1]

    assert entry["name"] == "vLLM, torch"
    assert (
        entry["small"]
        == entry["large"]
        == {
            "shape": [83, 576, 7168],
            "caught": 1,
            "missed": 0,
            "invisible": 2,
            "alarm": False,
            "names": {"caught": ["lane-lost"], "missed": [], "invisible": ["lane-negated", "element-zeroed"]},
        }
    )


def test_the_picture_is_the_same_every_time_and_names_everyone(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    told = document(by_hand()) | {"suite": {"caught": 3, "missed": 0}}
    first, again = tmp_path / "first.svg", tmp_path / "again.svg"
    draw_peers(told, first)
    draw_peers(told, again)

    text = first.read_text(encoding="utf-8")
    assert text == again.read_text(encoding="utf-8")
    for words in ("this suite", "DeepGEMM", "vLLM, torch", "4096×7168×16384", "83×576×7168", "3 seeded faults"):
        assert words in text
    assert text.index("this suite") < text.index("DeepGEMM") < text.index("vLLM, torch")


def test_a_peer_is_registered_under_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "PEERS", {})
    record.peer("mine", source="s", what="w", small=(2, 2, 128), large=(4, 4, 128), accepts=lambda *_: True)(
        lambda shape, _: iter([ones(float(shape[0]))])
    )

    assert next(record.PEERS["mine"].samples("large", CPU)).reference[0, 0] == 4
