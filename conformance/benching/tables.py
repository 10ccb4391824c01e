"""The document as tables in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from conformance.benching.clock import Timing
from conformance.benching.rivals import BF16
from conformance.terminal import console_on

if TYPE_CHECKING:
    from rich.console import Console

Row = Mapping[str, Any]


def render(document: Mapping[str, Any]) -> None:
    """Print what was timed."""
    console = console_on(sys.stdout)
    threads = f" · {document['threads']} threads" if document["threads"] else ""
    console.print(
        f"{document['path']} · {document['device_name']} · torch {document['torch']}{threads} · "
        f"medians of {document['rounds']} rounds"
    )
    if document["roof"] and document.get("layers"):
        roof = document["roof"]
        console.print(
            f"roof: {roof['fp8'] / 1e12:g} TFLOP/s FP8, {roof['bf16'] / 1e12:g} bf16, {roof['memory'] / 1e12:g} TB/s "
            f"({roof['source']})"
        )
    for part, put in (("layers", _layers), ("padding", _padding), ("engines", _engines)):
        if document.get(part):
            put(document[part], console)


def _layers(rows: Sequence[Row], console: Console) -> None:
    has_roof = any("of_roof" in row for row in rows)
    console.print(f"µs on the device{', and the share of the roof that is reached' if has_roof else ''}")
    for layer in _distinct(rows, "model", "tp", "layer", "n", "k"):
        model, tp, name, n, k = layer
        console.print(f"\n{model} on {tp} rank{'s' * (tp > 1)}: {name}, N={n} K={k}")
        own = [row for row in rows if (row["model"], row["tp"], row["layer"], row["n"], row["k"]) == layer]
        _by_m(own, console, _device)
    if any(row["kernel"] == BF16 for row in rows):
        console.print(f"\nSpeed beside {BF16}: geometric mean over the layers")
        _ratios(rows, console)


def device_seconds(row: Row) -> float:
    """What the device takes for a call, as near as it was timed: see `Timing`."""
    return Timing(row["called_seconds"], row["replayed_seconds"]).device


def _device(row: Row) -> str:
    share = f" {row['of_roof']:4.0%}" if "of_roof" in row else ""
    return f"{device_seconds(row) * 1e6:.1f}{share}"


def _padding(rows: Sequence[Row], console: Console) -> None:
    console.print("\nM padding, N=7168 K=2048: µs a call from Python (beside the next multiple of 4), on the device")
    _by_m(rows, console, _priced)


def _priced(row: Row) -> str:
    price = "" if row["price"] is None else f" {row['price']:+.0%}"
    return f"{row['called_seconds'] * 1e6:.1f}{price}, {_device(row)}"


def _by_m(rows: Sequence[Row], console: Console, told: Callable[[Row], str]) -> None:
    """A line for each M, a column for each kernel."""
    kernels = [name for (name,) in _distinct(rows, "kernel")]
    table = _table("M", kernels)
    for (m,) in _distinct(rows, "m"):
        found = {row["kernel"]: told(row) for row in rows if row["m"] == m}
        table.add_row(str(m), *(found.get(name, "") for name in kernels))
    console.print(table)


def _ratios(rows: Sequence[Row], console: Console) -> None:
    kernels = [name for (name,) in _distinct(rows, "kernel")]
    table = _table("M", kernels)
    for (m,) in _distinct(rows, "m"):
        found = speeds_beside([row for row in rows if row["m"] == m], BF16)
        table.add_row(str(m), *(f"{found[name]:.2f}x" if name in found else "" for name in kernels))
    console.print(table)


def speeds_beside(rows: Sequence[Row], other: str) -> dict[str, float]:
    """By kernel, how many times as fast as ``other`` it is on the device: geometric mean over the products of both."""
    by_product: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in rows:
        product = tuple(row[member] for member in ("model", "tp", "layer", "m", "n", "k"))
        by_product.setdefault(product, {})[row["kernel"]] = device_seconds(row)
    shared = [times for times in by_product.values() if other in times]
    names = dict.fromkeys(name for times in shared for name in times)
    return {name: geometric_mean(times[other] / times[name] for times in shared if name in times) for name in names}


def _engines(rows: Sequence[Row], console: Console) -> None:
    for (case,) in _distinct(rows, "case"):
        console.print(f"\n{case}", soft_wrap=True)
        own = [row for row in rows if row["case"] == case]
        eager = next((row["seconds"] for row in own if row["part"] == "engine eager"), None)
        table = _table("part", ["ms", "GMAC/s", "x eager"])
        for row in own:
            ratio = f"{eager / row['seconds']:.1f}" if eager else ""
            table.add_row(row["part"], f"{row['seconds'] * 1e3:.2f}", f"{row['gmac_per_s']:.2f}", ratio)
        console.print(table)


def _table(first: str, others: Sequence[str]) -> Any:
    from rich.table import Column, Table

    first_column = Column(first) if first == "part" else Column(first, justify="right")
    columns = (first_column, *(Column(name, justify="right") for name in others))
    return Table(*columns, box=None, padding=(0, 2, 0, 0))


def _distinct(rows: Sequence[Row], *members: str) -> list[tuple[Any, ...]]:
    return list(dict.fromkeys(tuple(row[member] for member in members) for row in rows))
