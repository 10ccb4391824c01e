"""The suite's items among those of a pytest session, and lines for cases of which nothing else is known."""

from __future__ import annotations

import re

import pytest

from conformance.hooks import Key
from conformance.records import Line

ITEM = re.compile(
    r"(^|/)test_products\.py::test_(product|generated)\[(?P<backend>[^/\]]+)/(?P<id>[a-z]+/(.+/)?s\d+)(-[\d-]+)?\]$"
)
"""Node ids of the suite's items, from whichever root; workers of pytest-xdist send nothing else before they run.

Plugins that repeat tests count at the end of an id. A case is one, and its first verdict stands.
"""
CRASHED = re.compile(r"worker '\w+' crashed while running")
"""What pytest-xdist says for an item whose process is gone."""


def key_of(nodeid: str) -> Key | None:
    """(backend, case id) of a suite item, None for any other test."""
    match = ITEM.search(nodeid)
    return (match["backend"], match["id"]) if match else None


def bare(key: Key, verdict: str, reason: str, detail: str) -> Line:
    """The line of a case of which nothing else is known."""
    return {
        "kind": "case",
        "id": key[1],
        "backend": key[0],
        "verdict": verdict,
        "reason": reason,
        "detail": detail,
        "check": check_of_id(key[1]),
        "path": "",
        "seconds": 0.0,
        "input_digest": "",
        "output_digest": "",
    }


def broken(key: Key, report: pytest.TestReport) -> Line:
    """The line of a case that ended without a verdict: the harness failed, or its process ended."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash else report.longrepr).strip()
    if CRASHED.match(text):
        return bare(key, "error", "process-died", "the process ended while this case ran")
    return bare(key, "error", "harness", text.splitlines()[0][:300] if text else "no text")


def check_of_id(text: str) -> str:
    """What the case with this id checks; ids of cases that no longer exist say at least of which kind they were."""
    from cases import parse_case

    try:
        return parse_case(text).check
    except ValueError:
        return text.split("/")[0]
