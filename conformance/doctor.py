"""What this machine is, which platform paths it opens, and what is known to be broken here."""

from __future__ import annotations

import sys
from typing import Any

import torch

from cases import EXAMPLE
from conformance.assignment import describe_promise
from conformance.backends.registry import BUILT_IN, load_backend
from conformance.capabilities import defects, promise_of
from conformance.probe import PATHS, Platform, available_devices, parse_device, probe


def examine() -> dict[str, Any]:
    """Everything the doctor has to say, as a JSON document."""
    here = [probe(parse_device(name)) for name in available_devices()]
    return {
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "devices": [_device(platform) for platform in here],
        "paths": {name: _path(name, here) for name in PATHS},
        "backends": {name: _backend(name, here[0]) for name in BUILT_IN},
        "defects": [
            {"api": d.api, "path": p.path, "what": d.what, "source": d.source} for p in here for d in defects(p)
        ],
        "fp8_cast_of_values_out_of_range": cast_semantics(),
    }


def _device(platform: Platform) -> dict[str, str]:
    owed = {api: describe_promise(promise_of(api, platform, EXAMPLE.problem)) for api in ("v1", "v2")}
    return {
        "kind": platform.kind,
        "arch": platform.arch,
        "name": platform.device_name,
        "runtime": platform.runtime,
        **owed,
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


def cast_semantics() -> str:
    """What this torch makes of 1000.0 in e4m3fn: "nan" up to 2.11, "saturates" from 2.12."""
    value = torch.tensor([1000.0], dtype=torch.float32).to(torch.float8_e4m3fn).float().item()
    return "nan" if value != value else "saturates"


def render(findings: dict[str, Any]) -> None:
    """Print the findings as tables."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout)
    console.print(f"torch {findings['torch']} · python {findings['python']}", highlight=False)
    paths = Table("path", "here", "why", box=SIMPLE, pad_edge=False)
    for name, path in findings["paths"].items():
        paths.add_row(name, "[green]yes[/]" if path["available"] else "no", path["reason"])
    console.print(paths)
    owed = Table("device", "torch-v1 owes", "torch-v2 owes", box=SIMPLE, pad_edge=False)
    for device in findings["devices"]:
        owed.add_row(f"{device['kind']} {device['arch']}", device["v1"], device["v2"])
    console.print(owed)
    console.print(f"e4m3fn cast of 1000.0: {findings['fp8_cast_of_values_out_of_range']}", highlight=False)
    for defect in findings["defects"] or [{"what": "nothing", "api": "-", "source": "capability table"}]:
        console.print(
            f"known to be broken here: {defect['api']} {defect['what']} ({defect['source']})", highlight=False
        )
