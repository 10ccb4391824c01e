"""Pictures of documents, for pages that are read in seconds. They take matplotlib, which nothing else here does."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.errors import UsageError
from conformance.outputs import check_output

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"caught": "#0072b2", "missed": "#e69f00", "invisible": "#d9d9d9"}
"""After Okabe and Ito: told apart by every eye, and in grey."""
INK, FAINT = "#222222", "#666666"
MEANING = {
    "caught": "caught",
    "missed": "missed: the result is wrong, the test passes",
    "invisible": "invisible: its inputs cannot show the fault",
}
SETTINGS = {
    # Text stays text, and the same document gives the same bytes.
    "svg.fonttype": "none",
    "svg.hashsalt": "scaled-mm-conformance",
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
}
ALARM = "fails the right kernel, too"
LABELLED = ("caught", "missed")
"""Their counts stand in the bars; the rest is what is left."""
GAP = 0.45
"""Between two groups of bars, in heights of a bar."""


@dataclass(frozen=True)
class Bar:
    """One stacked bar: how many of the faults have each fate, and what stands beside it.

    Where the test is an ``alarm``, rejecting the honest kernel as well, what it catches counts for nothing.
    """

    counts: Mapping[str, int]
    label: str
    alarm: bool = False


@dataclass(frozen=True)
class Group:
    """Bars under one name."""

    name: str
    bars: tuple[Bar, ...]
    bold: bool = False

    @property
    def caught(self) -> int:
        """The most that any of its bars has caught without an alarm: groups are sorted by it."""
        return max((bar.counts["caught"] for bar in self.bars if not bar.alarm), default=0)


def check_pictures() -> None:
    """Raise UsageError where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("pictures need matplotlib: pip install 'scaled-mm-conformance[pictures]'")


def check_picture(path: Path | None) -> None:
    """Raise UsageError where none can be drawn to ``path``; before what it shows is computed, which takes minutes."""
    if path is not None:
        check_output(path, "the picture", (".svg", ".png"))
        check_pictures()


def draw_peers(document: Mapping[str, Any], path: str | Path) -> None:
    """Draw the census of peers (`conformance.peers.table.document`) to ``path``, an SVG or PNG file.

    One stacked bar for each size of each peer: faults caught, missed and invisible. Counts under the key ``suite``,
    where there are any, become the bar of this suite on top.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    groups, total = _groups(document), document["faults"]
    rows = sum(len(group.bars) + GAP for group in groups)
    with rc_context(SETTINGS):
        figure = Figure(figsize=(8.4, 0.17 * rows + 0.8), facecolor="white")
        axes = figure.add_axes((0.32, 0.02, 0.66, 1 - 0.72 / (0.17 * rows + 0.8)))
        place = 0.0
        for group in groups:
            place = _draw_group(axes, group, place, total)
        axes.set(xlim=(0, total), ylim=(rows - 0.5, -0.5))
        axes.axis("off")
        _title(axes, total)
        figure.savefig(path, metadata={"Date": None, "Creator": None} if Path(path).suffix == ".svg" else None, dpi=144)


def _groups(document: Mapping[str, Any]) -> Sequence[Group]:
    """The bar of the suite first, then peers by what they catch at best."""
    found = [Group(entry["name"], _bars(entry)) for entry in document["peers"]]
    found.sort(key=lambda group: (-group.caught, group.name))
    suite = document.get("suite")
    return [Group("this suite", (Bar(suite, ""),), bold=True), *found] if suite else found


def _bars(entry: Mapping[str, Any]) -> tuple[Bar, ...]:
    told = [entry[size] for size in ("small", "large") if size in entry]
    if len(told) == 2 and told[0] == told[1]:
        del told[1]
    return tuple(Bar(size, "×".join(map(str, size["shape"])), size["alarm"]) for size in told)


def _draw_group(axes: Axes, group: Group, place: float, total: int) -> float:
    """Draw ``group`` from ``place`` downwards, and say where the next one begins."""
    weight = "bold" if group.bold else "normal"
    middle = place + (len(group.bars) - 1) / 2
    axes.text(-0.2 * total, middle, group.name, ha="right", va="center", color=INK, weight=weight)
    for bar in group.bars:
        _draw_bar(axes, bar, place, total)
        place += 1
    return place + GAP


def _draw_bar(axes: Axes, bar: Bar, place: float, total: int) -> None:
    axes.text(-0.01 * total, place, bar.label, ha="right", va="center", color=FAINT, size=7)
    if bar.alarm:
        axes.text(0.99 * total, place, ALARM, ha="right", va="center", color=INK, size=7, zorder=3)
    start = 0
    for fate, colour in COLOURS.items():
        width = bar.counts.get(fate, 0)
        axes.barh(place, width, left=start, height=0.86, color=colour, linewidth=0, clip_on=False)
        if fate in LABELLED and width > 0.02 * total:
            ink = "white" if fate == "caught" else INK
            axes.text(start + width / 2, place, str(width), ha="center", va="center", color=ink, size=7.5)
        start += width


def _title(axes: Axes, total: int) -> None:
    """What is counted, and the colours by their words."""
    title = f"{total} seeded faults past the tests of the field: how many does each one catch?"
    place: dict[str, Any] = {
        "xycoords": ("figure fraction", "axes fraction"),
        "textcoords": "offset points",
        "va": "bottom",
    }
    axes.annotate(title, (0.02, 1), (0, 24), color=INK, size=11, weight="bold", **place)
    for at, (fate, words) in zip((0.02, 0.12, 0.53), MEANING.items(), strict=True):
        axes.annotate("■", (at, 1), (0, 7), color=COLOURS[fate], size=11, **place)
        axes.annotate(words, (at, 1), (12, 8), color=INK, **place)
