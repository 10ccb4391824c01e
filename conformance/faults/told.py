"""The matrix of faults and checks as a document and as a table."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from conformance.faults import FAULTS, HONEST
from conformance.faults.kept import KEPT
from conformance.faults.matrix import Killed, Matrix
from conformance.outputs import writing
from conformance.probe import parse_device, probe


def document(found: Matrix) -> dict[str, Any]:
    """The matrix as a JSON document."""
    return {
        "path": probe(parse_device(found.device)).path,
        "torch": torch.__version__,
        "complete": found.complete,
        "ended": found.ended,
        "proof": found.is_proof,
        "checks": {check: _check(found, check) for check in found.checks},
        "faults": {name: _fault(found, name) for name in found.faults},
        "right": {name: _reasons(found.killed, name) | _reasons(found.declared, name) for name in HONEST},
        "survivors": found.survivors,
        "idle": found.idle,
        "unexplained": found.unexplained,
        "alarms": found.alarms,
    }


def write(found: Matrix, path: Path) -> None:
    """Put the JSON document where ``path`` is, in one step: whoever reads it finds the latest one whole."""
    beside = path.with_name(path.name + ".new")
    with writing(path, "the matrix"):
        beside.write_text(json.dumps(document(found), indent=2) + "\n", encoding="utf-8")
        beside.replace(path)


def _check(found: Matrix, check: str) -> dict[str, Any]:
    kept = asdict(KEPT[check]) if check in KEPT else None
    return {"kills": found.kills_of(check), "only": found.only(check), "kept": kept}


def _fault(found: Matrix, name: str) -> dict[str, Any]:
    fault = FAULTS[name]
    said = {"family": fault.family, "source": fault.source, "what": fault.what}
    return {**said, "killed_by": _reasons(found.killed, name), "declared": _reasons(found.declared, name)}


def _reasons(killed: Killed, name: str) -> dict[str, Any]:
    return {check: vars(kill) for check, kill in killed.get(name, {}).items()}


def render(found: Matrix) -> None:
    """Print checks with what they kill, and what is left to do."""
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout)
    table = Table("check", "kills", "alone", "for one", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for check in found.checks:
        killed, only = found.kills_of(check), found.only(check)
        table.add_row(check, str(len(killed) or ""), str(len(only) or ""), (only or killed or [""])[0])
    console.print(table)
    left = {
        "survivors": found.survivors,
        "idle checks": found.idle,
        "checks without a fault of their own and without a reason": found.unexplained if found.complete else [],
        "alarms": found.alarms,
    }
    for name, those in left.items():
        console.print(f"{name}: {', '.join(those) or 'none'}", highlight=False, soft_wrap=True)
    console.print(_sum(found), highlight=False, soft_wrap=True)


def _sum(found: Matrix) -> str:
    caught = len(found.faults) - len(found.survivors)
    return (
        f"{caught} of {len(found.faults)} faults killed, {len(HONEST) - len(found.alarms)} of {len(HONEST)} right "
        f"kernels pass, {len(found.checks) - len(found.idle)} of {len(found.checks)} checks kill a fault"
    )
