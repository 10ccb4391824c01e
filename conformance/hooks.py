"""What the suite's session announces to plugins: the plan, and every record as it is made. In the controller only."""

from __future__ import annotations

from typing import Any

Key = tuple[str, str]
"""Name of a backend and id of a case."""


def pytest_conformance_misused(sentence: str) -> None:
    """Say what is wrong with the call, where only a worker could find it; the session then ends."""


def pytest_conformance_began(header: dict[str, Any]) -> None:
    """Say that there is a report with this header line, in the place of any earlier one."""


def pytest_conformance_planned(keys: list[Key]) -> None:
    """Say what will be judged, once, before the first case runs."""


def pytest_conformance_kept(lines: list[dict[str, Any]]) -> None:
    """Say which lines an earlier run has left, once, before the plan that they belong to."""


def pytest_conformance_judged(line: dict[str, Any]) -> None:
    """Say what became of a case: its line of the report, which is written already."""


def pytest_conformance_withdrawn(line: dict[str, Any]) -> None:
    """Say that the record of a case that was announced is no longer believed: its line now, which the report has."""
