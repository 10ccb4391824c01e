"""Layers of models, their shapes under tensor parallelism, and the configurations that are refused."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cases.layers import MODELS, PARALLEL, Layer, LeftOut, Shard, layers_of, left_out, model, read_model, shards
from cases.linear import Part

every_model = pytest.mark.parametrize("name", MODELS)
every_tp = pytest.mark.parametrize("tp", PARALLEL)

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 1024,
    "intermediate_size": 2048,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
}
QWEN_MOE: dict[str, Any] = {**LLAMA, "model_type": "qwen3_moe", "moe_intermediate_size": 512, "num_experts": 4}
QWEN_MOE |= {"head_dim": 128, "decoder_sparse_step": 1, "mlp_only_layers": []}


def names(config: dict[str, Any]) -> list[str]:
    return [layer.name for layer in layers_of(config)]


def shape(config: dict[str, Any], name: str, tp: int = 1) -> tuple[int, int] | None:
    return next(layer for layer in layers_of(config) if layer.name == name).shard(tp)


def excluding(config: dict[str, Any], *modules: str) -> dict[str, Any]:
    return {**config, "quantization_config": {"modules_to_not_convert": list(modules)}}


# The shapes of real models, computed by hand from their configurations.


@pytest.mark.parametrize(
    ("name", "tp", "expected"),
    [
        (
            "DeepSeek-V3",
            1,
            {
                "self_attn.fused_qkv_a_proj": (2112, 7168),  # 1536 + 512 + 64
                "self_attn.q_a_proj": (1536, 7168),
                "self_attn.q_b_proj": (24576, 1536),  # 128 heads of 128 + 64
                "self_attn.kv_a_proj_with_mqa": (576, 7168),  # 512 + 64
                "self_attn.kv_b_proj": (32768, 512),  # 128 heads of 128 + 128
                "self_attn.o_proj": (7168, 16384),  # 128 heads of 128
                "mlp.gate_up_proj": (36864, 7168),  # 2 x 18432
                "mlp.down_proj": (7168, 18432),
                "mlp.shared_experts.gate_up_proj": (4096, 7168),  # 2 x 1 x 2048
                "mlp.shared_experts.down_proj": (7168, 2048),
            },
        ),
        (
            "DeepSeek-V3",
            8,
            {
                "self_attn.fused_qkv_a_proj": (2112, 7168),
                "self_attn.q_a_proj": (1536, 7168),
                "self_attn.q_b_proj": (3072, 1536),  # 16 heads of 192
                "self_attn.kv_a_proj_with_mqa": (576, 7168),
                "self_attn.kv_b_proj": (4096, 512),  # 16 heads of 256
                "self_attn.o_proj": (7168, 2048),  # 16 heads of 128
                "mlp.gate_up_proj": (4608, 7168),
                "mlp.down_proj": (7168, 2304),
                "mlp.shared_experts.gate_up_proj": (512, 7168),
                "mlp.shared_experts.down_proj": (7168, 256),
            },
        ),
        (
            "Qwen3-32B",
            4,
            {
                "self_attn.qkv_proj": (2560, 5120),  # 16 q and 2 + 2 kv heads of 128
                "self_attn.o_proj": (5120, 2048),
                "mlp.gate_up_proj": (12800, 5120),
                "mlp.down_proj": (5120, 6400),
            },
        ),
        (
            "Qwen3-235B-A22B",
            4,
            {
                "self_attn.qkv_proj": (2304, 4096),  # 16 q and 1 + 1 kv heads of 128
                "self_attn.o_proj": (4096, 2048),
                "mlp.experts.gate_up_proj": (768, 4096),  # 2 x 1536 / 4
                "mlp.experts.down_proj": (4096, 384),
            },
        ),
        (
            "Qwen3-235B-A22B",
            8,
            {
                "self_attn.qkv_proj": (1280, 4096),  # 8 q heads of 128, and 1 + 1 of the 4 kv heads, each on two ranks
                "self_attn.o_proj": (4096, 1024),
            },
        ),
        (
            "Llama-3.1-405B",
            8,
            {
                "self_attn.qkv_proj": (2304, 16384),  # 16 q and 1 + 1 kv heads of 16384 / 128
                "self_attn.o_proj": (16384, 2048),
                "mlp.gate_up_proj": (13312, 16384),
                "mlp.down_proj": (16384, 6656),
            },
        ),
    ],
)
def test_shapes_of_real_models(name: str, tp: int, expected: dict[str, tuple[int, int]]) -> None:
    actual = shards(model(name), tp)

    assert actual == tuple(Shard(layer, n, k, tp) for layer, (n, k) in expected.items())


@pytest.mark.parametrize(
    ("name", "layer", "tp", "n", "k"),
    [
        ("Qwen3-0.6B", "self_attn.qkv_proj", 1, 4096, 1024),  # head_dim 128, not 1024 / 16
        ("Qwen3-0.6B", "self_attn.o_proj", 1, 1024, 2048),
        ("Qwen3-1.7B", "self_attn.o_proj", 1, 2048, 2048),
        ("Qwen3-4B", "mlp.down_proj", 2, 2560, 4864),
        ("Qwen3-8B", "self_attn.qkv_proj", 2, 3072, 4096),
        ("Qwen3-14B", "self_attn.o_proj", 8, 5120, 640),
        ("Qwen3-14B", "mlp.down_proj", 4, 5120, 4352),
        ("Qwen3-32B", "mlp.down_proj", 8, 5120, 3200),
        ("Qwen3-30B-A3B", "self_attn.qkv_proj", 8, 768, 2048),
        ("Qwen3-30B-A3B", "mlp.experts.down_proj", 1, 2048, 768),
        ("Qwen3-Coder-480B-A35B", "self_attn.qkv_proj", 8, 1792, 6144),
        ("Qwen3-Coder-480B-A35B", "mlp.experts.gate_up_proj", 4, 1280, 6144),
        ("Llama-3.1-8B", "self_attn.qkv_proj", 8, 768, 4096),
        ("Llama-3.1-70B", "mlp.gate_up_proj", 8, 7168, 8192),
    ],
)
def test_single_shapes_of_real_models(name: str, layer: str, tp: int, n: int, k: int) -> None:
    assert Shard(layer, n, k, tp) in shards(model(name), tp)


def test_widths_known_to_break_kernels_are_among_the_shapes() -> None:
    broken = {(7168, 2304), (7168, 256), (5120, 4352), (5120, 6400), (5120, 3200), (2560, 4864), (7168, 2048)}

    actual = {(shard.n, shard.k) for name in MODELS for tp in PARALLEL for shard in shards(model(name), tp)}

    assert broken <= actual


# What the shards of any model must satisfy.


@every_tp
@every_model
def test_ranks_together_hold_the_layer_and_whole_blocks(name: str, tp: int) -> None:
    config: dict[str, Any] = model(name)
    left = {entry.name for entry in left_out(config, tp)}
    cuts = {layer: layer.shard(tp) for layer in layers_of(config)}

    assert {layer.name for layer, cut in cuts.items() if cut is None} == left
    for layer, cut in cuts.items():
        if cut is None:
            continue
        n, k = cut
        if layer.cut == "none":
            assert cut == (layer.n, layer.k)
        elif layer.cut == "k":
            assert (n, k * tp) == (layer.n, layer.k)
            assert k % 128 == 0
        else:
            # Ranks beyond the kv heads hold copies of them; every head here is 128 wide.
            copies = max(0, tp - config["num_key_value_heads"]) if layer.name.endswith("qkv_proj") else 0
            assert (n * tp, k) == (layer.n + copies * 2 * 128, layer.k)
            assert n % 128 == 0


@every_tp
@every_model
def test_each_shape_is_there_once_under_its_first_name(name: str, tp: int) -> None:
    config = model(name)
    first: dict[tuple[int, int] | None, str] = {}
    for layer in layers_of(config):
        first.setdefault(layer.shard(tp), layer.name)
    first.pop(None, None)

    actual = shards(config, tp)

    assert {(shard.n, shard.k): shard.name for shard in actual} == first
    assert len(actual) == len(first)


@every_model
def test_whole_models_are_complete(name: str) -> None:
    assert left_out(model(name), 1) == ()


def test_what_is_left_out_says_why() -> None:
    actual = left_out(model("Qwen3-30B-A3B"), 4)

    assert actual == (
        LeftOut("mlp.experts.gate_up_proj", 4, "192 of N end inside a block of 128"),
        LeftOut("mlp.experts.down_proj", 4, "192 of K end inside a block of 128"),
    )


# Cutting one layer.


def test_kv_heads_are_divided_then_copied() -> None:
    layer = Layer("qkv", 1536, 1024, "n", (Part(8, 128), Part(2, 128, copied=True), Part(2, 128, copied=True)))

    actual = [layer.shard(tp) for tp in (1, 2, 4, 8)]

    assert actual == [(1536, 1024), (768, 1024), (512, 1024), (384, 1024)]


def test_heads_that_no_rank_may_share_do_not_divide() -> None:
    parts = (Part(8, 128), Part(2, 128, copied=True), Part(2, 128, copied=True))
    layer = Layer("qkv", 1536, 1024, "n", parts)
    wrong = replace(layer, parts=tuple(replace(part, copied=False) for part in parts))

    assert layer.shard(4) == (512, 1024)
    assert wrong.shard(4) is None
    assert wrong.why_not(4) == "2 heads do not divide by 4"


@pytest.mark.parametrize(
    ("layer", "tp", "reason"),
    [
        (Layer("down", 256, 1000, "k"), 3, "1000 of K do not divide by 3"),
        (Layer("up", 1000, 256, "n"), 3, "1000 of N do not divide by 3"),
        (Layer("down", 256, 384, "k"), 2, "192 of K end inside a block of 128"),
        (Layer("up", 384, 256, "n"), 2, "192 of N end inside a block of 128"),
        (Layer("o", 256, 640, "k", (Part(5, 128),)), 2, "5 heads do not divide by 2"),
        (Layer("qkv", 768, 256, "n", (Part(4, 64), Part(4, 64), Part(4, 64))), 2, None),
        (Layer("qkv", 768, 256, "n", (Part(4, 64), Part(4, 64), Part(4, 64))), 4, "64 of N end inside a block of 128"),
        (Layer("kv", 384, 256, "n", (Part(3, 128, copied=True),)), 4, "3 heads do not divide by 4"),
        (Layer("kv", 768, 256, "n", (Part(6, 128, copied=True),)), 4, "6 heads do not divide by 4"),
        (Layer("up", 384, 256, "n", (Part(192), Part(192))), 1, "192 of N end inside a block of 128"),
        (Layer("a", 576, 256, "none"), 8, None),
        (Layer("a", 832, 256, "none", (Part(256), Part(576))), 8, None),
        (Layer("down", 256, 1000, "k"), 1, None),
    ],
)
def test_why_a_layer_is_not_cut(layer: Layer, tp: int, reason: str | None) -> None:
    actual = layer.why_not(tp)

    assert actual == reason
    assert (layer.shard(tp) is None) == (reason is not None)


@pytest.mark.parametrize("tp", [0, -1, True, 2.0, "2"])
def test_a_parallelism_that_is_no_count_is_refused(tp: Any) -> None:
    with pytest.raises(ValueError, match=r"tensor parallelism is .*; it must be a positive whole number"):
        shards(LLAMA, tp)


# From a configuration to its layers.


def test_a_dense_model_has_four_layers() -> None:
    actual = layers_of(LLAMA)

    assert [(layer.name, layer.n, layer.k, layer.cut) for layer in actual] == [
        ("self_attn.qkv_proj", 1536, 1024, "n"),
        ("self_attn.o_proj", 1024, 1024, "k"),
        ("mlp.gate_up_proj", 4096, 1024, "n"),
        ("mlp.down_proj", 1024, 2048, "k"),
    ]


@pytest.mark.parametrize("kind", ["llama", "mistral", "qwen2", "qwen3", "qwen3_vl_text", None])
def test_dense_model_types_have_the_same_layers(kind: str | None) -> None:
    assert layers_of({**LLAMA, "model_type": kind}) == layers_of(LLAMA)


def test_a_head_dim_of_its_own_counts() -> None:
    config = {**LLAMA, "head_dim": 256}

    assert shape(config, "self_attn.qkv_proj") == (3072, 1024)
    assert shape(config, "self_attn.o_proj") == (1024, 2048)


@pytest.mark.parametrize("nothing", [{"num_key_value_heads": None}, {"head_dim": None, "num_key_value_heads": 8}])
def test_null_is_as_good_as_absent(nothing: dict[str, object]) -> None:
    assert shape({**LLAMA, **nothing}, "self_attn.qkv_proj") == (3072, 1024)


def test_the_text_model_of_a_larger_model_is_followed() -> None:
    whole = {"model_type": "mistral3", "vision_config": {"hidden_size": 7}, "text_config": LLAMA}

    assert layers_of(whole) == layers_of(LLAMA)
    assert layers_of(excluding(whole, "mlp")) == layers_of(LLAMA)[:2]


def test_experts_replace_the_dense_mlp_where_every_layer_has_them() -> None:
    assert names(QWEN_MOE)[2:] == ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
    assert shape(QWEN_MOE, "mlp.experts.gate_up_proj") == (1024, 1024)


@pytest.mark.parametrize("some", [{"mlp_only_layers": [0]}, {"decoder_sparse_step": 2}])
def test_a_model_with_experts_in_some_layers_has_the_dense_mlp_too(some: dict[str, object]) -> None:
    assert names({**QWEN_MOE, **some})[2:4] == ["mlp.gate_up_proj", "mlp.down_proj"]


def test_shared_experts_of_qwen_have_a_size_of_their_own() -> None:
    config = {**QWEN_MOE, "model_type": "qwen2_moe", "shared_expert_intermediate_size": 768}

    assert shape(config, "mlp.shared_expert.gate_up_proj") == (1536, 1024)
    assert shape(config, "mlp.shared_expert.down_proj") == (1024, 768)


def test_shared_experts_of_deepseek_are_one_mlp() -> None:
    config = {**model("DeepSeek-V3"), "n_shared_experts": 2}

    assert shape(config, "mlp.shared_experts.gate_up_proj") == (8192, 7168)
    assert shape(config, "mlp.shared_experts.down_proj", 8) == (7168, 512)
    assert shape(config, "mlp.experts.down_proj", 8) == (7168, 256)


def test_deepseek_without_query_compression_projects_queries_at_once() -> None:
    config = {**model("DeepSeek-V3"), "model_type": "deepseek_v2", "q_lora_rank": None, "num_attention_heads": 16}

    assert names(config)[:3] == ["self_attn.q_proj", "self_attn.kv_a_proj_with_mqa", "self_attn.kv_b_proj"]
    assert shape(config, "self_attn.q_proj") == (3072, 7168)


def test_kimi_k2_is_deepseek_with_half_the_heads_and_more_experts() -> None:
    config = {**model("DeepSeek-V3"), "model_type": "kimi_k2", "num_attention_heads": 64, "n_routed_experts": 384}

    assert shape(config, "self_attn.o_proj", 8) == (7168, 1024)


def test_deepseek_whose_every_layer_has_experts_has_no_dense_mlp() -> None:
    config = {**model("DeepSeek-V3"), "first_k_dense_replace": 0}

    assert "mlp.down_proj" not in names(config)
    assert "mlp.down_proj" in names({**config, "n_routed_experts": None})


# Modules that the checkpoint does not quantise.


@pytest.mark.parametrize(
    ("modules", "left"),
    [
        (["lm_head"], ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]),
        (["o_proj"], ["qkv_proj", "gate_up_proj", "down_proj"]),
        (["self_attn.o_proj", "mlp.down_proj"], ["qkv_proj", "gate_up_proj"]),
        (["v_proj", "up_proj"], ["o_proj", "down_proj"]),
        (["qkv_proj"], ["o_proj", "gate_up_proj", "down_proj"]),
        (["self_attn"], ["gate_up_proj", "down_proj"]),
        (["mlp.gate", "norm", "roj", "p.down_proj", ""], ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]),
        (["model.layers.0.mlp", "model.layers.1.mlp"], ["qkv_proj", "o_proj"]),
        (["model.layers.0.mlp", "model.layers.0.mlp"], ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]),
        (["layers.0.self_attn.q_proj", "layers.1.self_attn.q_proj"], ["o_proj", "gate_up_proj", "down_proj"]),
    ],
)
def test_modules_that_are_not_converted_are_no_layers(modules: list[str], left: list[str]) -> None:
    actual = names(excluding(LLAMA, *modules))

    assert [name.rpartition(".")[2] for name in actual] == left


def test_a_fused_layer_goes_with_either_module() -> None:
    actual = names(excluding(model("DeepSeek-V3"), "kv_a_proj_with_mqa", "mlp.experts"))

    assert "self_attn.fused_qkv_a_proj" not in actual
    assert "self_attn.q_a_proj" in actual
    assert [name for name in actual if "experts" in name] == [
        "mlp.shared_experts.gate_up_proj",
        "mlp.shared_experts.down_proj",
    ]


# Configurations that are refused, and with which words.

SUPPORTED = (
    "supported model types are deepseek_v2, deepseek_v3, kimi_k2, llama, mistral, qwen2, qwen3, qwen3_vl_text, "
    "qwen2_moe, qwen3_moe, qwen3_vl_moe_text, and a configuration without one is read as llama"
)
POSITIVE = "it must be a positive whole number"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model_type": "gpt_neox"}, f"'model_type' is 'gpt_neox'; {SUPPORTED}"),
        ({"model_type": ["llama"]}, f"'model_type' is ['llama']; {SUPPORTED}"),
        ({"model_type": "deepseek_v3"}, f"'kv_lora_rank' is missing; {SUPPORTED}"),
        ({"model_type": "qwen3_moe"}, f"'num_experts' is missing; {SUPPORTED}"),
        ({"model_type": "qwen3_moe", "num_experts": 8}, f"'moe_intermediate_size' is missing; {SUPPORTED}"),
        ({"hidden_size": None}, f"'hidden_size' is missing; {SUPPORTED}"),
        ({"intermediate_size": None}, f"'intermediate_size' is missing; {SUPPORTED}"),
        ({"num_attention_heads": None}, f"'num_attention_heads' is missing; {SUPPORTED}"),
        ({"hidden_size": 1024.0}, f"'hidden_size' is 1024.0; {POSITIVE}"),
        ({"hidden_size": "1024"}, f"'hidden_size' is '1024'; {POSITIVE}"),
        ({"intermediate_size": 0}, f"'intermediate_size' is 0; {POSITIVE}"),
        ({"intermediate_size": -128}, f"'intermediate_size' is -128; {POSITIVE}"),
        ({"num_attention_heads": True}, f"'num_attention_heads' is True; {POSITIVE}"),
        ({"num_key_value_heads": False}, f"'num_key_value_heads' is False; {POSITIVE}"),
        ({"head_dim": -1}, f"'head_dim' is -1; {POSITIVE}"),
        ({"head_dim": [128]}, f"'head_dim' is [128]; {POSITIVE}"),
        (
            {"num_attention_heads": 7},
            "'head_dim' is missing, and 'hidden_size' 1024 does not divide by 7 heads",
        ),
        ({"text_config": [1]}, "'text_config' is [1]; it must be an object"),
        ({"quantization_config": "fp8"}, "'quantization_config' is 'fp8'; it must be an object"),
        (
            {"quantization_config": {"weight_block_size": [64, 64]}},
            "'weight_block_size' is [64, 64]; supported is [128, 128]",
        ),
        (
            {"quantization_config": {"weight_block_size": 128}},
            "'weight_block_size' is 128; supported is [128, 128]",
        ),
        (
            {"quantization_config": {"modules_to_not_convert": "mlp"}},
            "'modules_to_not_convert' is 'mlp'; it must be a list of module names",
        ),
        (
            {"quantization_config": {"modules_to_not_convert": [1]}},
            "'modules_to_not_convert' is [1]; it must be a list of module names",
        ),
        (
            {"quantization_config": {"modules_to_not_convert": ["self_attn", "mlp"]}},
            "no layers found; 'modules_to_not_convert' names them all",
        ),
    ],
)
def test_a_configuration_without_layers_is_refused_in_one_sentence(
    changes: dict[str, object], sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA, **changes}))

    with pytest.raises(ValueError) as refusal:  # noqa: PT011 the whole sentence is compared below
        read_model(path)

    assert str(refusal.value) == f"{path}: {sentence}"
    assert type(refusal.value) is ValueError


@pytest.mark.parametrize("key", ["qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "kv_lora_rank", "hidden_size"])
def test_a_key_that_deepseek_needs_is_named(key: str) -> None:
    config = model("DeepSeek-V3")
    del config[key]

    with pytest.raises(ValueError, match=f"^'{key}' is missing; supported model types are deepseek_v2, "):
        layers_of(config)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "holds []; a configuration is a JSON object"),
        (b"3", "holds 3; a configuration is a JSON object"),
        (b"null", "holds None; a configuration is a JSON object"),
        (b"{}", f"'hidden_size' is missing; {SUPPORTED}"),
    ],
)
def test_a_file_that_holds_no_configuration_is_refused_in_one_sentence(
    content: bytes, sentence: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)

    with pytest.raises(ValueError) as refusal:  # noqa: PT011 the whole sentence is compared below
        read_model(path)

    assert str(refusal.value) == f"{path}: {sentence}"
    assert type(refusal.value) is ValueError


def test_a_long_value_is_not_repeated_whole(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA, "hidden_size": "9" * 1000}))

    with pytest.raises(ValueError, match=r"'hidden_size' is '9+\.\.\.9+'; it must be") as refusal:
        read_model(path)

    assert len(str(refusal.value)) < len(str(path)) + 120


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("absent.json", "there is no such file"),
        ("", "is a directory; name the config.json in it"),
        ("config.json/config.json", "cannot be read: Not a directory"),
    ],
)
def test_a_path_that_is_no_file_is_refused_in_one_sentence(name: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    path = tmp_path / name

    with pytest.raises(ValueError) as refusal:  # noqa: PT011 the whole sentence is compared below
        read_model(path)

    assert str(refusal.value) == f"{path}: {sentence}"


def test_a_good_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))

    assert read_model(path) == LLAMA


# The models of the package.


def test_the_list_of_models_is_what_the_package_holds() -> None:
    files = [file.name for file in (resources.files("cases") / "models").iterdir() if file.name.endswith(".json")]

    assert sorted(files) == sorted(f"{name}.json" for name in MODELS)


@every_model
def test_a_model_says_where_it_comes_from(name: str) -> None:
    config = model(name)

    assert str(config["source"]).startswith("https://huggingface.co/")
    assert str(config["source"]).endswith("/blob/main/config.json")
    assert config["verified"]


@every_model
def test_a_model_is_a_configuration_that_can_be_read_from_its_file(name: str) -> None:
    path = Path(str(resources.files("cases") / "models" / f"{name}.json"))

    assert read_model(path) == model(name)


def test_no_two_models_have_the_same_layers() -> None:
    together = sorted(tuple((s.n, s.k) for s in shards(model(name), 1)) for name in MODELS)

    assert all(one != other for one, other in pairwise(together))


@pytest.mark.parametrize("name", ["", "qwen3-32b", "../layers", "GPT-2"])
def test_an_unknown_model_is_refused_with_the_choices(name: str) -> None:
    with pytest.raises(ValueError, match=r"is no known model; choose one of DeepSeek-V3, Qwen3-0\.6B, "):
        model(name)


def test_layers_need_no_torch() -> None:
    code = "import sys; from cases.layers import *; shards(model('DeepSeek-V3'), 8); print('torch' in sys.modules)"

    actual = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert actual == "False\n"
