"""The linear layers of a model, from its public configuration, and the shapes that tensor parallelism makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as brief
from typing import Literal

from cases.linear import BLOCK, Layer, Part
from cases.models import DENSE, MLA, MODELS, MOE, SUPPORTED, model, nested, not_converted, optional, read, size
from cases.spelling import LARGEST

__all__ = ["MODELS", "PARALLEL", "Layer", "LeftOut", "Shard", "layers_of", "left_out", "model", "read_model", "shards"]

PARALLEL = (1, 2, 4, 8)
CHECKPOINT = {
    "qkv_proj": ("q_proj", "k_proj", "v_proj"),
    "gate_up_proj": ("gate_proj", "up_proj"),
    "fused_qkv_a_proj": ("q_a_proj", "kv_a_proj_with_mqa"),
}
"""The checkpoint's modules that engines run as one layer."""


@dataclass(frozen=True)
class Shard:
    """What one of ``tp`` ranks multiplies by: W [n, k] of the layer ``name``."""

    name: str
    n: int
    k: int
    tp: int


@dataclass(frozen=True)
class LeftOut:
    """A layer that is not run on ``tp`` ranks, and why."""

    name: str
    tp: int
    reason: str


def layers_of(config: Mapping[str, object]) -> tuple[Layer, ...]:
    """The linear layers that a block FP8 checkpoint of this configuration quantises; ValueError if there are none."""
    text = nested(config, "text_config") or config
    kind = text.get("model_type")
    if kind is not None and kind not in MLA + DENSE + MOE:
        raise ValueError(f"'model_type' is {brief(kind)}; {SUPPORTED}")
    quantisation = nested(config, "quantization_config") or nested(text, "quantization_config")
    blocks = quantisation.get("weight_block_size")
    if blocks is not None and blocks != [BLOCK, BLOCK]:
        raise ValueError(f"'weight_block_size' is {brief(blocks)}; supported is [{BLOCK}, {BLOCK}]")
    layers = (*(_latent_attention(text) if kind in MLA else _attention(text)), *_mlps(text))
    for layer in layers:
        if max(layer.n, layer.k) > LARGEST:
            raise ValueError(
                f"{layer.name!r} would have {brief(layer.n)} x {brief(layer.k)} weights; sizes end at 2^40"
            )
    others = not_converted(quantisation.get("modules_to_not_convert"), optional(text, "num_hidden_layers"))
    found = tuple(
        layer for layer in layers if not any(f".{name}." in own for name in others for own in _modules(layer))
    )
    if not found:
        raise ValueError("no layers found; 'modules_to_not_convert' names them all")
    return found


def shards(config: Mapping[str, object], tp: int) -> tuple[Shard, ...]:
    """The shapes on one of ``tp`` ranks, each once, under the name of the first layer that has it."""
    found: dict[tuple[int, int], Shard] = {}
    for layer in layers_of(config):
        if (shape := layer.shard(tp)) is not None:
            found.setdefault(shape, Shard(layer.name, *shape, tp))
    return tuple(found.values())


def left_out(config: Mapping[str, object], tp: int) -> tuple[LeftOut, ...]:
    """The layers that `shards` leaves out."""
    reasons = ((layer.name, layer.why_not(tp)) for layer in layers_of(config))
    return tuple(LeftOut(name, tp, reason) for name, reason in reasons if reason is not None)


def read_model(path: Path) -> dict[str, object]:
    """The configuration in a file; ValueError with one sentence unless `layers_of` finds layers in it."""
    try:
        config = read(path)
        layers_of(config)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return config


def _column(name: str, k: int, *parts: Part, cut: Literal["n", "none"] = "n") -> Layer:
    return Layer(name, sum(part.units * part.width for part in parts), k, cut, parts)


def _row(name: str, n: int, part: Part) -> Layer:
    return Layer(name, n, part.units * part.width, "k", (part,))


def _attention(config: Mapping[str, object]) -> list[Layer]:
    hidden, heads = size(config, "hidden_size"), size(config, "num_attention_heads")
    width, kv_heads = optional(config, "head_dim"), optional(config, "num_key_value_heads") or heads
    if not width and hidden % heads:
        raise ValueError(f"'head_dim' is missing, and 'hidden_size' {hidden} does not divide by {heads} heads")
    q, kv = Part(heads, width or hidden // heads), Part(kv_heads, width or hidden // heads, copied=True)
    return [_column("self_attn.qkv_proj", hidden, q, kv, kv), _row("self_attn.o_proj", hidden, q)]


def _latent_attention(config: Mapping[str, object]) -> list[Layer]:
    hidden, heads = size(config, "hidden_size"), size(config, "num_attention_heads")
    latent, rope = size(config, "kv_lora_rank"), size(config, "qk_rope_head_dim")
    nope, v = size(config, "qk_nope_head_dim"), size(config, "v_head_dim")
    q_rank, q, kv_a = optional(config, "q_lora_rank"), Part(heads, nope + rope), Part(latent + rope)
    fused = [
        _column("self_attn.fused_qkv_a_proj", hidden, Part(q_rank), kv_a, cut="none"),
        _column("self_attn.q_a_proj", hidden, Part(q_rank), cut="none"),
        _column("self_attn.q_b_proj", q_rank, q),
    ]
    return [
        *(fused if q_rank else [_column("self_attn.q_proj", hidden, q)]),
        _column("self_attn.kv_a_proj_with_mqa", hidden, kv_a, cut="none"),
        _column("self_attn.kv_b_proj", latent, Part(heads, nope + v)),
        _row("self_attn.o_proj", hidden, Part(heads, v)),
    ]


def _mlps(config: Mapping[str, object]) -> list[Layer]:
    sizes = {}
    moe = config.get("model_type") in MOE
    experts = size(config, "num_experts") if moe else optional(config, "n_routed_experts")
    # Layers without experts: the first ones, those listed, or all but every nth.
    every = max(optional(config, "decoder_sparse_step"), optional(config, "moe_layer_freq"))
    if not experts or optional(config, "first_k_dense_replace") or config.get("mlp_only_layers") or every > 1:
        sizes["mlp"] = size(config, "intermediate_size")
    if experts:
        expert = size(config, "moe_intermediate_size")
        sizes["mlp.shared_experts"] = optional(config, "n_shared_experts") * expert
        sizes["mlp.shared_expert"] = optional(config, "shared_expert_intermediate_size")
        sizes["mlp.experts"] = expert
    hidden = size(config, "hidden_size")
    layers = []
    for name, width in sizes.items():
        if width:
            layers += [
                _column(f"{name}.gate_up_proj", hidden, Part(width), Part(width)),
                _row(f"{name}.down_proj", hidden, Part(width)),
            ]
    return layers


def _modules(layer: Layer) -> list[str]:
    scope, _, last = layer.name.rpartition(".")
    return [f".{scope}.{module}." for module in (last, *CHECKPOINT.get(last, ()))]
