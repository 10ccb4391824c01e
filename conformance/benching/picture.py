"""The document as a picture: a panel for each layer, the share of the roof over M, a line for each kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.benching.tables import device_seconds
from conformance.pictures import FAINT, INK, SETTINGS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "marker": "o"},
    {"color": "#D55E00", "marker": "s"},
    {"color": "#009E73", "marker": "^"},
    {"color": "#777777", "marker": "x", "linestyle": "--"},
    {"color": "#AA4499", "marker": "D", "linestyle": "--"},
    {"color": "#B8860B", "marker": "v"},
    {"color": "#111111", "marker": "+"},
)
"""After Okabe and Ito: told apart by every eye, and by their marks in grey."""
ACROSS = 4
PANEL = (2.7, 2.2)
"""Inches."""
ROOM = 0.9
"""Inches above the panels, for the title and the kernels by their colours."""


def draw_bench(document: Mapping[str, Any], path: str | Path) -> None:
    """Draw the layers and the padding of ``document`` to ``path``, an SVG or PNG file.
    Nothing is drawn where it has neither.
    """
    from matplotlib import rc_context

    with rc_context(SETTINGS):
        metadata = {"Date": None, "Creator": None} if Path(path).suffix == ".svg" else None
        figure_of(document).savefig(path, metadata=metadata, dpi=144)


def figure_of(document: Mapping[str, Any]) -> Figure:
    """The picture, not yet written."""
    from matplotlib.figure import Figure

    panels = _panels(document)
    down = ceil(len(panels) / ACROSS)
    height = PANEL[1] * down + ROOM
    figure = Figure(figsize=(PANEL[0] * ACROSS, height), facecolor="white")
    grid = figure.subplots(down, ACROSS, squeeze=False)
    figure.subplots_adjust(left=0.05, right=0.99, top=1 - ROOM / height - 0.02, bottom=0.06, wspace=0.28, hspace=0.55)
    kernels = list(dict.fromkeys(row["kernel"] for _, rows, _ in panels for row in rows))
    styles = dict(zip(kernels, STYLES * ceil(len(kernels) / len(STYLES)), strict=False))
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, (title, rows, member) in zip(grid.flat, panels, strict=False):
        _draw(axes, title, rows, member, styles)
    _head(figure, document, styles, height)
    return figure


def _panels(document: Mapping[str, Any]) -> list[tuple[str, Sequence[Mapping[str, Any]], str]]:
    """Title, rows, and the member that is drawn."""
    layers = document.get("layers") or []
    member = "of_roof" if any("of_roof" in row for row in layers) else "microseconds"
    told = [{**row, "microseconds": device_seconds(row) * 1e6} for row in layers]
    found: list[tuple[str, Sequence[Mapping[str, Any]], str]] = []
    for key in dict.fromkeys((row["model"], row["layer"], row["n"], row["k"]) for row in told):
        model, layer, n, k = key
        rows = [row for row in told if (row["model"], row["layer"], row["n"], row["k"]) == key]
        found.append((f"{model} {layer.rpartition('.')[2]}\nN={n} K={k}", rows, member))
    if document.get("padding"):
        rows = [{**row, "microseconds": row["called_seconds"] * 1e6} for row in document["padding"]]
        found.append(("M padding: µs a call from Python\nN=7168 K=2048", rows, "microseconds"))
    return found


def _draw(axes: Axes, title: str, rows: Sequence[Mapping[str, Any]], member: str, styles: Mapping[str, Any]) -> None:
    for kernel, style in styles.items():
        own = [row for row in rows if row["kernel"] == kernel]
        axes.plot([row["m"] for row in own], [row[member] for row in own], markersize=3.5, linewidth=1.2, **style)
    axes.set_title(title, size=8, color=INK, loc="left")
    axes.set_xscale("log", base=2)
    ticks = [m for m in (1, 4, 16, 64, 256, 1024, 4096) if m <= max(row["m"] for row in rows)]
    axes.set_xticks(ticks, [str(m) for m in ticks], size=7)
    axes.minorticks_off()
    axes.set_ylim(bottom=0, top=1 if member == "of_roof" else None)
    if member == "of_roof":
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "roof"])
    axes.tick_params(labelsize=7, colors=FAINT)
    axes.set_xlabel("M", size=7, color=FAINT, labelpad=1)
    axes.grid(axis="y", color="#e0e0e0", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _head(figure: Figure, document: Mapping[str, Any], styles: Mapping[str, Any], height: float) -> None:
    from matplotlib.lines import Line2D

    what = "Share of the roof of each kernel's operands" if document["roof"] else "Microseconds on the device"
    figure.text(0.012, 1 - 0.25 / height, f"{what}, by layer and M", size=12, weight="bold", color=INK, va="center")
    about = f"{document['device_name']}, torch {document['torch']}; device time; medians of {document['rounds']} rounds"
    figure.text(0.988, 1 - 0.25 / height, about, size=8, color=FAINT, va="center", ha="right")
    handles = [Line2D([], [], label=name, **style) for name, style in styles.items()]
    figure.legend(
        handles=handles, loc="center left", bbox_to_anchor=(0.008, 1 - 0.52 / height), ncols=len(styles), frameon=False
    )
