"""`conformance probe`: which arithmetic answers on a device."""

from __future__ import annotations

import sys
from typing import Any

from conformance.backends.registry import load_backends
from conformance.diagnosis.probes import ask, consistent
from conformance.probe import parse_device, probe
from conformance.session import default_backends
from reference import ARITHMETICS


def probe_backends(specs: tuple[str, ...], device_name: str | None) -> list[dict[str, Any]]:
    """Put the probes to every backend; one JSON object a backend."""
    device = parse_device(device_name)
    platform = probe(device)
    documents = []
    for backend in load_backends(specs or default_backends(platform)):
        answers = ask(backend, device)
        documents.append(
            {
                "backend": backend.name,
                "path": platform.path,
                "device_name": platform.device_name,
                "torch": platform.torch_version,
                "arithmetics": list(consistent(answers)),
                "answers": [
                    {"probe": a.probe.name, "asks": a.probe.asks, "value": repr(a.value), "fits": list(a.fits)}
                    for a in answers
                ],
            }
        )
    return documents


def render(documents: list[dict[str, Any]]) -> None:
    """Print a table a backend, and what its answers come to."""
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout)
    for document in documents:
        console.print(
            f"{document['backend']} on {document['path']} ({document['device_name']}), torch {document['torch']}",
            highlight=False,
        )
        table = Table("probe", "asks", "answer", "fits", box=None, padding=(0, 1, 0, 0))
        for answer in document["answers"]:
            fits = "all" if len(answer["fits"]) == len(ARITHMETICS) else ", ".join(answer["fits"]) or "none"
            table.add_row(answer["probe"], answer["asks"], answer["value"], fits)
        console.print(table)
        console.print(_conclusion(document), highlight=False)


def _conclusion(document: dict[str, Any]) -> str:
    if all(answer["value"] == "nan" for answer in document["answers"]):
        return "no product came: this backend does not compute here\n"
    names = ", ".join(document["arithmetics"])
    return f"consistent with {names}\n" if names else "consistent with no published arithmetic\n"
