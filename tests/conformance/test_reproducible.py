"""A run repeats: no count of workers, order, locale, time zone, thread count or hash seed shows in what it found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
RUN = f"import sys; sys.path.append({str(TESTS)!r}); from conformance.cli import main; main()"
SELECTED = ("run", "--device", "cpu", "--profile", "quick", "-k", "m3-n16 or m5-n144-k400/bf16")

PLAIN = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC", "OMP_NUM_THREADS": "1"}
OTHERWISE = {"PYTHONHASHSEED": "7", "LC_ALL": "C", "TZ": "Asia/Kolkata", "OMP_NUM_THREADS": "2"}
SHUFFLED = {"PYTHONPATH": str(TESTS), "PYTEST_PLUGINS": "shuffled", "SHUFFLED": "1"}

OF_BITS = ("output_digest", "holds", "detail", "worst_ulp", "worst_at", "rel_diff", "err_over_bound")
"""What sums that threads share do not repeat."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[list[dict[str, object]]]:
    """The lines of two reports: in one process, in order; and by workers, in another order and other surroundings."""
    folder = tmp_path_factory.mktemp("runs")
    runs = (("plain", "0", PLAIN), ("other", "2", OTHERWISE | SHUFFLED))
    for name, workers, surroundings in runs:
        command = [sys.executable, "-c", RUN, *SELECTED, "-n", workers, "--report", name]
        done = subprocess.run(command, cwd=folder, env=os.environ | surroundings, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    texts = ((folder / name / "report.jsonl").read_text(encoding="utf-8") for name, *_ in runs)
    return [[json.loads(line) for line in text.splitlines()] for text in texts]


def test_the_cases_came_in_another_order(reports: list[list[dict[str, object]]]) -> None:
    one, other = ([line["id"] for line in report if line["kind"] == "case"] for report in reports)

    # Workers alone shift cases against each other; they turn few neighbours round.
    turned = sum(one.index(a) > one.index(b) for a, b in pairwise(other))
    assert len(one) > 40
    assert turned > len(one) / 3


def test_every_case_is_found_the_same(reports: list[list[dict[str, object]]]) -> None:
    one, other = (sorted(_timeless(report), key=str) for report in reports)

    assert one == other


def test_the_digest_and_the_counts_are_the_same(reports: list[list[dict[str, object]]]) -> None:
    one, other = ({**report[-1], "seconds": {}} for report in reports)

    assert one == other
    assert one["digest"]


def _timeless(report: list[dict[str, object]]) -> list[dict[str, object]]:
    cases = [{**line, "seconds": 0} for line in report if line["kind"] == "case"]
    return [{k: v for k, v in line.items() if line["deterministic"] or k not in OF_BITS} for line in cases]
