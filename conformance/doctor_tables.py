"""The doctor's findings in a terminal."""

from __future__ import annotations

import sys
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

COLOURS = {"right": "green", "wrong": "bold red", "refused": "yellow", "right or refused": "yellow", "absent": "dim"}


def render(findings: dict[str, Any]) -> None:
    """Print what `conformance.doctor.examine` found."""
    console = Console(file=sys.stdout)
    said = " · described, not this machine" if findings["described"] else f" · python {findings['python']}"
    console.print(f"torch {findings['torch']}{said}", highlight=False)
    if not findings["described"]:
        console.print(_paths(findings["paths"]))
    console.print(_devices(findings["devices"]))
    if not findings["described"]:
        console.print(_backends(findings["backends"]))
        console.print(f"e4m3fn cast of 1000.0: {findings['fp8_cast_of_values_out_of_range']}", highlight=False)
    for shape in findings["shapes"]:
        _shape(console, shape)
    _defects(console, findings["defects"])


def _paths(paths: dict[str, Any]) -> Table:
    table = Table("path", "here", "why", box=SIMPLE, pad_edge=False)
    for name, path in paths.items():
        table.add_row(name, "[green]yes[/]" if path["available"] else "no", escape(path["reason"]))
    return table


def _devices(devices: list[dict[str, Any]]) -> Table:
    table = Table("device", "library", "torch-v1 owes", "torch-v2 owes", box=SIMPLE, pad_edge=False)
    for device in devices:
        named = {"runtime": device["runtime"], "cuBLAS": device["cublas"], "driver": device["driver"]}
        versions = "\n".join(f"{name} {version}" for name, version in named.items() if version)
        table.add_row(f"{device['kind']} {device['arch']}", versions or "-", device["v1"], device["v2"])
    return table


def _backends(backends: dict[str, Any]) -> Table:
    table = Table("backend", "runs", Column("why not", overflow="fold"), box=SIMPLE, pad_edge=False)
    for name, backend in backends.items():
        table.add_row(name, "[green]yes[/]" if backend["supported"] else "no", escape(backend["reason"] or ""))
    return table


def _shape(console: Console, shape: dict[str, Any]) -> None:
    table = Table(
        "API", "outcome", Column("why", overflow="fold"), box=SIMPLE, pad_edge=False, title=f"M,N,K = {shape['shape']}"
    )
    for api in shape["apis"]:
        table.add_row(f"torch-{api['api']}", f"[{COLOURS[api['outcome']]}]{api['outcome']}[/]", escape(api["why"]))
    chosen = shape["upstream"]["chosen"] or "no kernel: each one has its reason (--json lists them)"
    table.add_row("vLLM", "chooses", escape(chosen))
    if shape["upstream"]["forced"]:
        table.add_row(
            "", "[bold red]forced[/]", escape(f"{shape['upstream']['torch_kernel']}: {shape['upstream']['forced']}")
        )
    console.print(table)


def _defects(console: Console, defects: list[dict[str, Any]]) -> None:
    if not defects:
        console.print("known to be broken here: nothing", highlight=False)
        return
    table = Table(
        Column("deviation", overflow="fold"),
        "backend",
        Column("what", overflow="fold"),
        box=SIMPLE,
        pad_edge=False,
        title="known to be broken here",
    )
    for defect in defects:
        what = f"{defect['observed']}: {defect['reason']}\n{defect['link']}"
        table.add_row(defect["id"], ", ".join(defect["backends"]), escape(what))
    console.print(table)
