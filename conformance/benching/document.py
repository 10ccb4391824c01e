"""Everything that was timed, as one JSON document."""

from __future__ import annotations

import platform as machine
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch

from conformance.backends.registry import load_backends
from conformance.benching.clock import ROUNDS
from conformance.benching.engines import engine_rows
from conformance.benching.layers import chosen_layers, layer_rows, padding_rows
from conformance.benching.roofs import roof_of
from conformance.errors import UsageError, nearest
from conformance.probe import parse_device, probe
from conformance.request import Request

PARTS = ("layers", "padding", "engines")
ON_SM90 = ("torch-v1", "torch-v2", "triton")
"""What is timed where nothing is named: both APIs of torch, and the Triton kernel of this suite."""


def bench(request: Request, parts: Sequence[str]) -> dict[str, Any]:
    """Time ``parts`` for the backends, device and model of ``request``: all if none is named, padding on CUDA alone.

    Without a model, the layers are those of public ones. Raises UsageError for parts that there are not, and for layers
    or padding without any backend.
    """
    request.check()
    device = parse_device(request.device)
    wanted = [part for part in checked(parts) if part != "padding" or part in parts or device.type == "cuda"]
    platform = probe(device)
    named = request.backends or (ON_SM90 if platform.path == "sm90" else ())
    if not named and any(part in parts for part in ("layers", "padding")):
        raise UsageError(f"no kernel multiplies block scales on {platform.path} by default: name one with --backend")
    backends = load_backends(named)
    roof = roof_of(platform.device_name)
    found: dict[str, Any] = {
        "path": platform.path,
        "device_name": platform.device_name,
        "torch": platform.torch_version,
        "python": machine.python_version(),
        "threads": torch.get_num_threads() if device.type == "cpu" else None,
        "rounds": ROUNDS,
        "backends": {backend.name: backend.describe() for backend in backends},
        "roof": asdict(roof) if roof else None,
    }
    rows = {
        "layers": layer_rows(chosen_layers(request.model, request.tp), backends, roof, device),
        "padding": padding_rows(backends, device),
        "engines": engine_rows(device),
    }
    return {**found, **{part: list(rows[part]) for part in wanted if backends or part == "engines"}}


def checked(parts: Sequence[str]) -> tuple[str, ...]:
    """``parts`` in the order of `PARTS`, each once; all if none is named. Raises UsageError, naming the nearest."""
    for part in parts:
        if part not in PARTS:
            near = nearest(part, PARTS) or f"; there are {', '.join(PARTS)}"
            raise UsageError(f"bench has no part {part!r}{near}")
    return tuple(part for part in PARTS if part in parts or not parts)
