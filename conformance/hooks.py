"""What the suite's session announces to plugins: the plan, and every record as it is made. In the controller only."""

from __future__ import annotations

from typing import Any

Key = tuple[str, str]
"""Name of a backend and id of a case."""


def pytest_conformance_planned(keys: list[Key]) -> None:
    """Say what will be judged, once, before the first case runs."""


def pytest_conformance_judged(line: dict[str, Any]) -> None:
    """Say what became of a case: its line of the report, which is written already."""
