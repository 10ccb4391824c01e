"""What `conformance bench` makes of times; the times themselves are no test's business."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from cases import Problem
from conformance.benching.clock import ROUNDS, Timing, copies_for, measure
from conformance.benching.layers import chosen_layers, padding_rows
from conformance.benching.picture import draw_bench
from conformance.benching.roofs import Roof, roof_of, traffic
from conformance.benching.tables import render, speeds_beside

CPU = torch.device("cpu")
Command = Callable[..., tuple[int, str, str]]
LLAMA = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 384,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}


def row(kernel: str, called: float, replayed: float | None = None, **more: Any) -> dict[str, Any]:
    about = {"model": "Small", "layer": "mlp.down_proj", "tp": 1, "m": 4, "n": 256, "k": 384}
    return {**about, "kernel": kernel, "called_seconds": called, "replayed_seconds": replayed, **more}


def document(**parts: Any) -> dict[str, Any]:
    about = {"path": "sm90", "device_name": "Some GPU", "torch": "2.13.0", "threads": None, "rounds": 5, "roof": None}
    return {**about, "backends": {}, **parts}


def test_every_copy_is_used_as_often_as_the_others_and_never_twice_in_a_row() -> None:
    used: list[int] = []
    measure({"kernel": used.append}, 3, CPU)

    assert used == [0, 1, 2] * (len(used) // 3)
    assert len(used) >= 3 * (2 + ROUNDS)


def test_kernels_take_turns_so_that_drift_hits_all_alike() -> None:
    called: list[str] = []
    measure({name: lambda _, name=name: called.append(name) for name in "ab"}, 1, CPU)
    changes = [now for before, now in itertools.pairwise(called) if before != now]

    assert changes == ["b"] + ["a", "b"] * ROUNDS


@pytest.mark.parametrize("after", [0, 2])
def test_a_kernel_that_raises_is_left_out_with_a_sentence(after: int, capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []

    def breaks(copy: int) -> None:
        calls.append(copy)
        if len(calls) > after:
            raise ValueError("no such tile")

    found = measure({"breaks": breaks, "works": lambda _: None}, 1, CPU)

    assert list(found) == ["works"]
    assert capsys.readouterr().err == "breaks: not timed: ValueError: no such tile\n"


def test_without_a_cache_to_defeat_one_copy_is_enough() -> None:
    assert copies_for(1, CPU) == 1


def test_the_device_time_is_the_replayed_one_where_there_is_one() -> None:
    assert (Timing(2.0, 1.0).device, Timing(2.0).device) == (1.0, 2.0)


def test_the_roof_is_arithmetic_for_many_rows_and_traffic_for_few() -> None:
    roof = Roof(fp8=2e15, bf16=1e15, memory=4e12, source="")
    many, one = Problem(4096, 4096, 4096), Problem(1, 4096, 4096)
    moved = 4096 + 4096 * 4096 + 4 * (1 + 32) * 32 + 2 * 4096

    assert roof.seconds(many, "fp8") == pytest.approx(2 * 4096**3 / 2e15)
    assert roof.seconds(many, "bf16") == pytest.approx(2 * 4096**3 / 1e15)
    assert traffic(one, "fp8") == moved
    assert roof.seconds(one, "fp8") == pytest.approx(moved / 4e12)
    assert traffic(one, "bf16") == 2 * (4096 + 4096 * 4096 + 4096)


def test_a_device_without_a_data_sheet_has_no_roof() -> None:
    assert roof_of("AMD EPYC") is None
    assert roof_of("NVIDIA H200") is not None


def test_speed_beside_another_is_the_geometric_mean_over_what_both_did() -> None:
    rows = [
        row("bf16 matmul", 8.0, 4.0),
        row("fast", 9.0, 1.0),
        row("bf16 matmul", 8.0, m=8),
        row("fast", 8.0, m=8),
        row("fast", 1e-9, m=16),
    ]

    assert speeds_beside(rows, "bf16 matmul") == {"bf16 matmul": pytest.approx(1.0), "fast": pytest.approx(2.0)}


def test_the_layers_are_those_of_the_users_own_model(tmp_path: Path) -> None:
    (tmp_path / "tiny.json").write_text(json.dumps(LLAMA))
    found = chosen_layers(tmp_path / "tiny.json", 1)

    assert [(layer.model, layer.shard.n, layer.shard.k) for layer in found] == [
        ("tiny", 768, 256),
        ("tiny", 256, 256),
        ("tiny", 256, 384),
    ]
    assert {layer.model for layer in chosen_layers(None, 1)} == {"DeepSeek-V3", "Qwen3-32B"}


def test_padding_is_priced_beside_the_next_multiple_of_4(monkeypatch: pytest.MonkeyPatch) -> None:
    def timed(problem: Problem, *_: object, **__: object) -> dict[str, Timing]:
        return {"kernel": Timing(2.0 if problem.m % 4 else 1.0)}

    monkeypatch.setattr("conformance.benching.layers._timed", timed)
    prices = {each["m"]: each["price"] for each in padding_rows((), CPU)}

    assert {m for m, price in prices.items() if price is None} == {m for m in prices if m % 4 == 0}
    assert {price for m, price in prices.items() if m % 4} == {1.0}


def test_the_tables_show_every_kernel_at_every_m(capsys: pytest.CaptureFixture[str]) -> None:
    layers = [
        row("bf16 matmul", 8e-6, 4e-6, of_roof=0.25, roof_seconds=1e-6),
        row("mine", 2e-6, 2e-6, of_roof=0.5, roof_seconds=1e-6),
        row("mine", 3e-6, m=64),
    ]
    padding = [{**row("mine", 2e-6, 1e-6, m=3), "padded": True, "price": 1.0}]
    engines = [{"case": "gemm/some", "part": "engine eager", "seconds": 0.001, "gmac_per_s": 2.0}]
    render(document(layers=layers, padding=padding, engines=engines))
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]

    assert ["4", "4.0", "25%", "2.0", "50%"] in shown
    assert ["64", "3.0"] in shown
    assert ["4", "1.00x", "2.00x"] in shown
    assert ["3", "2.0", "+100%,", "1.0"] in shown
    assert ["engine", "eager", "1.00", "2.00", "1.0"] in shown


def test_the_picture_has_a_panel_for_each_layer_and_one_for_padding(tmp_path: Path) -> None:
    layers = [row("mine", 2e-6, of_roof=0.5), row("mine", 2e-6, m=64, of_roof=0.4)]
    padding = [{**row("mine", 2e-6, 1e-6, m=m), "padded": m == 3, "price": None} for m in (3, 4)]
    told = document(layers=layers, padding=padding)
    draw_bench(told, tmp_path / "a.svg")
    draw_bench(told, tmp_path / "b.svg")
    drawn = (tmp_path / "a.svg").read_text()

    assert drawn == (tmp_path / "b.svg").read_text()
    assert drawn.count("N=256 K=384") == 1
    assert "M padding" in drawn
    assert "mine" in drawn


def test_bench_times_a_users_kernel_on_the_layers_of_a_users_model(tmp_path: Path, command: Command) -> None:
    (tmp_path / "tiny.json").write_text(json.dumps(LLAMA))
    arguments = ("--backend", "native", "--device", "cpu", "--part", "layers", "--model", tmp_path / "tiny.json")
    code, out, _ = command("bench", *arguments, "--json")
    told = json.loads(out)

    assert code == 0
    assert "engines" not in told
    assert {each["kernel"] for each in told["layers"]} >= {"native", "bf16 matmul"}
    assert {each["m"] for each in told["layers"]} == {1, 16, 64, 256, 1024, 4096}
    assert all(each["called_seconds"] > 0 for each in told["layers"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--part", "layer"), "did you mean 'layers'?"),
        (("--part", "layers", "--device", "cpu"), "name one with --backend"),
        (("--tp", "2"), "name its configuration with --model CONFIG_JSON"),
        (("--model", "no-such.json"), "no-such.json"),
        (("--picture", "bench.gif"), "name a file that ends in .svg or .png"),
        (("--picture", "no/such/folder/bench.svg"), "name a file in a folder that exists"),
    ],
)
def test_what_cannot_be_timed_is_answered_with_a_sentence(
    arguments: tuple[str, ...], says: str, command: Command
) -> None:
    code, out, err = command("bench", *arguments)

    assert (code, out) == (2, "")
    assert says in err
