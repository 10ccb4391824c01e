"""What this machine is, which platform paths it opens, and what is known to be broken here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch

from cases import EXAMPLE, Problem
from conformance.backends.names import BUILT_IN
from conformance.backends.padding import cublas_version
from conformance.backends.registry import load_backend
from conformance.contract import describe_promise, row_for
from conformance.contract.described import described
from conformance.contract.row import APIS
from conformance.deviations.entry import Machine
from conformance.deviations.ledger import deviations_on
from conformance.foresight import parse_shape, prospects, upstream_choice
from conformance.probe import PATHS, Platform, available_devices, driver_version, parse_device, probe
from conformance.versions import release


def examine(shapes: Sequence[str] = (), *, on: str | None = None, torch_version: str | None = None) -> dict[str, Any]:
    """Everything the doctor has to say, as a JSON document; nothing is launched on any device.

    ``shapes`` are products M,N,K to foresee; ``on`` (``cuda/sm90``) and ``torch_version`` describe another machine than
    this one. Raises UsageError for a shape or a platform that is none.
    """
    problems = {shape: parse_shape(shape) for shape in shapes}
    here = [probe(parse_device(name)) for name in available_devices()]
    machines = _machines(here, on, torch_version)
    return {
        "torch": torch_version or torch.__version__,
        "python": sys.version.split()[0],
        "described": on is not None or torch_version is not None,
        "devices": [_device(machine) for machine in machines],
        "paths": {name: _path(name, here) for name in PATHS},
        "backends": {name: _backend(name, machines[0].platform) for name in BUILT_IN},
        "defects": [_defect(machine, entry) for machine in machines for entry in deviations_on(machine)],
        "shapes": [_foreseen(shape, problem, machines[0]) for shape, problem in problems.items()],
        "fp8_cast_of_values_out_of_range": cast_semantics(),
    }


def _machines(here: list[Platform], on: str | None, torch_version: str | None) -> list[Machine]:
    version = release(torch_version) if torch_version else torch.__version__
    if on is not None:
        return [Machine(described(on, version))]
    if torch_version is not None:
        return [Machine(described(p.spelled, version)) for p in here]
    return [Machine(p, cublas_version() if p.kind == "cuda" else "", driver_version(p)) for p in here]


def _device(machine: Machine) -> dict[str, Any]:
    platform = machine.platform
    rows = {api: row_for(api, platform, EXAMPLE.problem) for api in APIS}
    return {
        "kind": platform.kind,
        "arch": platform.arch,
        "path": platform.path,
        "name": platform.device_name,
        "runtime": platform.runtime,
        "cublas": machine.cublas,
        "driver": machine.driver,
        **{api: describe_promise(row.promise) if row else "right or refused" for api, row in rows.items()},
        "evidence": {api: f"{row.evidence}: {row.source}" if row else "nothing known" for api, row in rows.items()},
    }


def _path(name: str, here: list[Platform]) -> dict[str, Any]:
    found = [platform for platform in here if platform.path == name]
    if found:
        return {"available": True, "reason": f"{found[0].device_name or found[0].arch} is here"}
    return {"available": False, "reason": f"needs {PATHS[name].needs}"}


def _backend(name: str, platform: Platform) -> dict[str, Any]:
    backend = load_backend(name)
    supported, reason = backend.is_supported(platform)
    return {"supported": supported, "reason": reason, **backend.describe()}


def _defect(machine: Machine, entry: Any) -> dict[str, Any]:
    told = {key: getattr(entry, key) for key in ("id", "observed", "reason", "link", "evidence")}
    return {"path": machine.platform.path, "backends": list(entry.backends), **told}


def _foreseen(shape: str, problem: Problem, machine: Machine) -> dict[str, Any]:
    return {
        "shape": shape,
        "apis": [asdict(prospect) for prospect in prospects(problem, machine)],
        "upstream": upstream_choice(problem, machine),
    }


def cast_semantics() -> str:
    """What this torch makes of 1000.0 in e4m3fn: "nan" up to 2.11, "saturates" from 2.12."""
    value = torch.tensor([1000.0], dtype=torch.float32).to(torch.float8_e4m3fn).float().item()
    return "nan" if value != value else "saturates"
