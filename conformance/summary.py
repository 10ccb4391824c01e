"""A report as a table for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from conformance.conclude import CHANGED

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Line = dict[str, Any]
COLUMNS = ("passed", "rejected", "failed", "known-deviation", "stale-deviation", "unsupported", "error", "not-run")
STYLES = {
    "passed": "green",
    "rejected": "green",
    "failed": "bold red",
    "error": "bold red",
    "stale-deviation": "bold red",
    "not-run": "yellow",
}
SHOWN = 8
"""Failing cases that the summary lists in full."""


def print_summary(
    console: Console, header: Line, lines: Sequence[Line], *, conclusion: str, where: str | None = None
) -> None:
    """Print what was judged, the verdict table, the first failures and the headline."""
    console.print(_title(header), highlight=False, soft_wrap=True)
    for name, facts in header.get("backends", {}).items():
        told = ", ".join(f"{key} {value}" for key, value in facts.items())
        console.print(f"{name}: {told}" if told else name, highlight=False, soft_wrap=True, markup=False)
    console.print(verdict_table(lines))
    for line in _failures(lines)[:SHOWN]:
        console.print(_failure(line), highlight=False, soft_wrap=True)
    hidden = len(_failures(lines)) - SHOWN
    if hidden > 0:
        console.print(f"... and {hidden} more" + (f" in {where}" if where else ""), highlight=False)
    console.print(f"\n{conclusion}", highlight=False, soft_wrap=True)
    if where:
        console.print(f"records: {where}", highlight=False, soft_wrap=True)


def _title(header: Line) -> str:
    device = header.get("device_name") or header.get("arch", "")
    return (
        f"{header['path']} · {device} · torch {header['torch']} · profile {header['profile']} · seed {header['seed']}"
    )


def verdict_table(lines: Sequence[Line]) -> Table:
    """Counts by backend and check, bits explained, the worst numbers, seconds; in 80 columns."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    used = [verdict for verdict in COLUMNS if any(line["verdict"] == verdict for line in lines)]
    for name in ("backend", "check"):
        table.add_column(name, no_wrap=True)
    for name in (*used, "bits", *WORST.values(), "s"):
        table.add_column(name, justify="right")
    for (backend, check), group in _groups(lines).items():
        counts = Counter(line["verdict"] for line in group)
        explained = sum(line.get("plan") is not None for line in group)
        seconds = sum(line.get("seconds", 0.0) for line in group)
        numbers = (str(explained or ""), *(_worst(group, key) for key in WORST), f"{seconds:.1f}")
        table.add_row(backend, check, *(_cell(v, counts[v]) for v in used), *numbers)
    return table


WORST = {"err_over_bound": "err/bound", "rel_diff": "rel_diff"}


def _groups(lines: Sequence[Line]) -> dict[tuple[str, str], list[Line]]:
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in sorted(lines, key=lambda x: x["backend"]):
        groups.setdefault((line["backend"], check_of(line)), []).append(line)
    return groups


def check_of(line: Line) -> str:
    """What a case checks: its values or its scenario where a product may come, the refusal elsewhere."""
    expected = str(line.get("expected", ""))
    if expected not in ("", "compute", "right or refused", "absent"):
        return expected
    kind, _, name = str(line.get("check", "")).partition("/")
    return f"{kind}s" if name else kind


def _cell(verdict: str, count: int) -> str:
    style = STYLES.get(verdict)
    return f"[{style}]{count}[/]" if count and style else str(count or "")


def _worst(group: Sequence[Line], key: str) -> str:
    values = [line[key] for line in group if line.get(key) is not None]
    return f"{max(values):.3g}" if values else ""


def _failures(lines: Sequence[Line]) -> list[Line]:
    """What is wrong, and then what is only worded otherwise than the contract knows."""
    wrong = [line for line in lines if line["verdict"] in ("failed", "stale-deviation", "error")]
    return wrong + [line for line in lines if line.get("reason") == CHANGED and line not in wrong]


def _failure(line: Line) -> str:
    from rich.markup import escape

    return (
        f"[bold red]{line['verdict']}[/] {escape(line['reason'])}: {escape(line.get('detail', ''))}\n"
        f"    conformance run --backend {escape(line['backend'])} --case {escape(line.get('reproduce') or line['id'])}"
    )
