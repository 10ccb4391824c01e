"""Kernels on the layers of real models, and what it costs that M is no multiple of 4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from cases import Problem
from cases.case import parse_product
from cases.layers import Shard, model, read_model, shards
from cases.operands import build_operands
from conformance.backends.protocol import Backend
from conformance.benching.clock import Timing
from conformance.benching.rivals import RIVALS, operands_of, time_kernels
from conformance.benching.roofs import Roof
from conformance.workers import counted

MODELS = (("DeepSeek-V3", 8), ("Qwen3-32B", 1))
"""Models and the ranks that they are cut for: N from 512 to 51200, K from 256 to 25600."""
ROWS = (1, 16, 64, 256, 1024, 4096)
"""M: a token to decode, batches of them, prompts."""
CPU_LIMIT = 1 << 31
"""Multiply-accumulates of the largest product that is timed on a CPU."""
PADDED = Shard("mlp.shared_experts.down_proj", 7168, 2048, 1)
"""The layer on which M is varied: DeepSeek-V3's."""
PADDING_ROWS = (1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 63, 64, 83, 84, 127, 128, 253, 255, 256)
MULTIPLE = 4


@dataclass(frozen=True)
class Layer:
    """A ``shard`` of a layer of ``model``."""

    model: str
    shard: Shard

    def problem(self, m: int) -> Problem:
        """Its product with ``m`` rows."""
        return Problem(m, self.shard.n, self.shard.k)


def chosen_layers(config: Path | None, tp: int) -> tuple[Layer, ...]:
    """The layers of the model with this configuration file on ``tp`` ranks, or those of `MODELS`.

    Raises ValueError for a file that is none.
    """
    if config is not None:
        return tuple(Layer(config.stem, shard) for shard in shards(read_model(config), tp))
    return tuple(Layer(name, shard) for name, ranks in MODELS for shard in shards(model(name), ranks))


def layer_rows(
    layers: Sequence[Layer], backends: Sequence[Backend], roof: Roof | None, device: torch.device
) -> Iterator[dict[str, Any]]:
    """One row for each layer, M and kernel; on a CPU, of products up to `CPU_LIMIT`."""
    products = [(layer, m) for layer in layers for m in ROWS if _is_affordable(layer.problem(m), device)]
    for layer, m in counted(products, "layers", len(products)):
        problem = layer.problem(m)
        about = {"model": layer.model, "layer": layer.shard.name, "tp": layer.shard.tp}
        sizes = {"m": m, "n": problem.n, "k": problem.k}
        for name, timing in _timed(problem, backends, device, rivals=True).items():
            least = roof.seconds(problem, operands_of(name)) if roof else None
            yield {**about, **sizes, "kernel": name, **_figures(timing, least)}


def _is_affordable(problem: Problem, device: torch.device) -> bool:
    return device.type != "cpu" or problem.macs <= CPU_LIMIT


def padding_rows(backends: Sequence[Backend], device: torch.device) -> Iterator[dict[str, Any]]:
    """One row for each M and kernel, each with what it takes beside the next multiple of 4."""
    problems = {m: Layer("", PADDED).problem(m) for m in PADDING_ROWS}
    found = {
        m: _timed(problem, backends, device, rivals=False)
        for m, problem in counted(problems.items(), "padding", len(problems))
    }
    for m, timings in found.items():
        whole = found.get(m + -m % MULTIPLE, {})
        for name, timing in timings.items():
            price = timing.called / whole[name].called - 1 if name in whole and m % MULTIPLE else None
            yield {"m": m, "padded": m % MULTIPLE != 0, "kernel": name, **_figures(timing, None), "price": price}


def _timed(
    problem: Problem, backends: Sequence[Backend], device: torch.device, *, rivals: bool
) -> Mapping[str, Timing]:
    case = parse_product(f"gemm/{problem.recipe}/{problem.shape}/{problem.out}/uniform-codes/s0")
    return time_kernels(build_operands(case, device=device), problem, backends, RIVALS if rivals else ())


def _figures(timing: Timing, least: float | None) -> dict[str, Any]:
    told: dict[str, Any] = {"called_seconds": timing.called, "replayed_seconds": timing.replayed}
    return told if least is None else {**told, "roof_seconds": least, "of_roof": least / timing.device}
