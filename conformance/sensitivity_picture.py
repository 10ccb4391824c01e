"""The sensitivity document as a picture: a panel for every kind of fault, a line for every judge."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.pictures import check_pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES: dict[str, dict[str, Any]] = {
    "exact": {"color": "#0072B2", "linestyle": "-", "linewidth": 3.6, "marker": "o"},
    "bound": {"color": "#009E73", "linestyle": "-", "linewidth": 2.2, "marker": "s"},
    "bits": {"color": "#111111", "linestyle": "-", "linewidth": 1.2},
    "rel_diff": {"color": "#D55E00", "linestyle": "--", "linewidth": 1.8, "marker": "v"},
    "calc_diff": {"color": "#B8860B", "linestyle": "--", "linewidth": 3.2, "marker": "D"},
    "cosine": {"color": "#AA4499", "linestyle": "--", "linewidth": 1.4, "marker": "x"},
    "allclose": {"color": "#777777", "linestyle": ":", "linewidth": 1.8},
}
"""Tiers solid, metrics dashed; colours after Okabe and Ito. Lines that coincide differ in width."""
TINY, NEVER = 1e-6, 2.0**10
"""Amplitudes below and above which only the fact is drawn, in bands of their own."""
BELOW, ABOVE = TINY / 3.5, NEVER * 3.5
LOWEST, HIGHEST = TINY / 12, NEVER * 12
TICKS = {BELOW: "< 1 ppm", 1e-5: "10 ppm", 1e-4: "100 ppm", 1e-3: "0.1 %", 1e-2: "1 %", 1e-1: "10 %", 1.0: "100 %"}
TICKS |= {10.0: "10x", 100.0: "100x", ABOVE: "never"}
HOW_TO_READ = (
    "Smallest amplitude ε that raises an alarm, lower is better. Where a line rises, a fault hides better in a larger "
    "result."
)
SETTINGS: dict[Any, Any] = {
    "svg.hashsalt": "sensitivity",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial"],
    "font.size": 9,
}
"""Text stays text, and ids do not change from one drawing to the next."""
GAP = 0.062
"""Least distance of two labels, in heights of a panel."""


def draw_sensitivity(document: dict[str, Any], path: str | Path) -> None:
    """Write ``document`` to ``path``, an SVG or PNG file: the same bytes for the same document and matplotlib.

    The first output dtype of the document is drawn. Raises UsageError where matplotlib is not installed.
    """
    check_pictures()
    from matplotlib import rc_context

    with rc_context(SETTINGS):
        undated = {"Date": None, "Creator": None} if Path(path).suffix == ".svg" else None
        figure_of(document).savefig(path, metadata=undated)


def figure_of(document: dict[str, Any]) -> Figure:
    """The picture, not yet written: five panels that share both axes, and how to read them in the sixth place."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.8, 7.6), facecolor="white")
    grid = figure.subplots(2, 3, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.065, right=0.93, top=0.83, bottom=0.075, wspace=0.3, hspace=0.42)
    figure.text(0.012, 0.952, "The smallest fault that each judge detects", size=15, weight="bold")
    figure.text(0.012, 0.915, HOW_TO_READ, size=10)
    *panels, last = grid.flat
    for axes, kind in zip(panels, document["kinds"], strict=True):
        _draw_panel(axes, document, kind)
    _explain(last, document)
    return figure


def _draw_panel(axes: Axes, document: dict[str, Any], kind: str) -> None:
    sizes = document["sizes"]
    axes.set(xscale="log", yscale="log", ylim=(LOWEST, HIGHEST), xlim=(sizes[0] / 1.1, sizes[-1] * 1.1))
    axes.text(0, 1.1, kind, transform=axes.transAxes, size=11, weight="bold")
    axes.text(0, 1.035, document["kinds"][kind], transform=axes.transAxes, size=8.5, color="#444444")
    for band in ((LOWEST, TINY), (NEVER, HIGHEST)):
        axes.axhspan(*band, color="#e9e9e9", linewidth=0)
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set_yticks(list(TICKS), list(TICKS.values()))
    axes.minorticks_off()
    axes.tick_params(labelbottom=True, left=False, bottom=False, labelsize=8)
    axes.set_xlabel("outputs a side", size=8)
    axes.grid(axis="y", color="#e0e0e0", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    _label(axes, {judge: _draw_line(axes, document, kind, judge) for judge in document["judges"]})


def _draw_line(axes: Axes, document: dict[str, Any], kind: str, judge: str) -> float:
    """Draw what ``judge`` detects of ``kind``; returns where the line ends, in heights of the panel."""
    row = (kind, judge, document["outs"][0])
    found = {t["size"]: t["epsilon"] for t in document["thresholds"] if (t["kind"], t["judge"], t["out"]) == row}
    heights = [ABOVE if epsilon is None else BELOW if epsilon < TINY else epsilon for epsilon in found.values()]
    axes.plot(list(found), heights, clip_on=False, markersize=4, **STYLES[judge])
    return (log10(heights[-1]) - log10(LOWEST)) / (log10(HIGHEST) - log10(LOWEST))


def _label(axes: Axes, ends: dict[str, float]) -> None:
    """Names at the ends of their lines, moved apart where these lie close."""
    from matplotlib.collections import LineCollection

    judges = sorted(ends, key=lambda judge: ends[judge])
    places = spread([ends[judge] for judge in judges])
    colors = [STYLES[judge]["color"] for judge in judges]
    leaders = [((1.0, ends[judge]), (1.035, place)) for judge, place in zip(judges, places, strict=True)]
    lines = LineCollection(leaders, colors=colors, linewidths=0.5, transform=axes.transAxes, clip_on=False)
    axes.add_collection(lines, autolim=False)
    for judge, place, color in zip(judges, places, colors, strict=True):
        axes.text(1.045, place, judge, transform=axes.transAxes, color=color, va="center", size=8.5, weight="bold")


def spread(places: Sequence[float]) -> list[float]:
    """Ascending ``places`` moved apart to `GAP` at least, each run of close ones around where it was."""
    runs: list[list[float]] = []
    for place in places:
        runs.append([place])
        while len(runs) > 1 and _low(runs[-1]) - _high(runs[-2]) < GAP:
            runs[-2:] = [runs[-2] + runs[-1]]
    return [_low(run) + GAP * i for run in runs for i in range(len(run))]


def _low(run: Sequence[float]) -> float:
    # No run reaches beyond the panel, where the next one begins.
    return min(max(sum(run) / len(run) - GAP * (len(run) - 1) / 2, 0.0), 1.0 - GAP * (len(run) - 1))


def _high(run: Sequence[float]) -> float:
    return _low(run) + GAP * (len(run) - 1)


def _explain(axes: Axes, document: dict[str, Any]) -> None:
    """The judges with what they say, and what the picture was made from, in the place of a panel."""
    axes.set_axis_off()
    place = 1.1
    for heading, tiers in (("Tiers of this suite, solid", True), ("Metrics of the field, dashed", False)):
        axes.text(0, place, heading, transform=axes.transAxes, size=9.5, weight="bold")
        for judge in (name for name, said in document["judges"].items() if said["is_tier"] is tiers):
            place -= 0.085
            style = STYLES[judge]
            axes.text(0, place, judge, transform=axes.transAxes, color=style["color"], size=8.5, weight="bold")
            axes.text(0.25, place, document["judges"][judge]["says"], transform=axes.transAxes, size=8)
        place -= 0.13
    made = (
        f"Honest SM90 results over K = {document['k']} (x against y), disturbed before the store as "
        f"{document['outs'][0]}. Element, row and tile are of median magnitude. 10x is an error of ten times the "
        f"value; never: {document['largest_tried']:.0f}x passes. torch {document['torch']}, {document['path']}."
    )
    axes.text(0, place + 0.04, textwrap.fill(made, 58), transform=axes.transAxes, size=8, va="top", color="#444444")
