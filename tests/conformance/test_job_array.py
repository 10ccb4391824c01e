"""The job array of docs/ci, run as a batch system runs it: a task for each share, then the merge."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "docs" / "ci" / "job-array.sbatch"
CASES = [f"gemm/1x128-128x128/m{m}-n144-k400/bf16/tagged-integers/s0" for m in (5, 6, 7, 8)]
ASKED = ["--device", "cpu", "--backend", "native", *(word for case in CASES for word in ("--case", case))]


def typed(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    # One worker: what is tried is the script.
    one = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTEST_XDIST_AUTO_NUM_WORKERS": "1"}
    return subprocess.run(command, cwd=folder, env=os.environ | one | environment, capture_output=True, text=True)


def task(index: int, folder: Path) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(SCRIPT), *ASKED]
    return typed(command, folder, SLURM_ARRAY_TASK_ID=str(index), SLURM_ARRAY_TASK_COUNT="2")


def lines_of(report: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (report / "report.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shared folder after the tasks, the first of which was requeued after it had lost its last lines."""
    folder = tmp_path_factory.mktemp("cluster")
    for index in (1, 2):
        done = task(index, folder)
        assert done.returncode == 0, done.stderr
    report = folder / "shard-1" / "report.jsonl"
    report.write_text("".join(report.read_text(encoding="utf-8").splitlines(keepends=True)[:-2]), encoding="utf-8")
    again = task(1, folder)
    assert again.returncode == 0, again.stderr
    return folder


def test_a_requeued_task_goes_on(folder: Path) -> None:
    header, *_, footer = lines_of(folder / "shard-1")

    assert header["resumed"] is not None
    assert (header["shard"], footer["kind"]) == ("1/2", "footer")


def test_the_command_that_follows_makes_one_report(folder: Path) -> None:
    (merge,) = re.findall(r"--wrap '(conformance merge .*)'", SCRIPT.read_text(encoding="utf-8"))
    done = typed(["bash", "-c", merge], folder)

    lines = lines_of(folder / "report")
    assert done.returncode == 0, done.stderr
    assert sorted(str(line["id"]) for line in lines if line["kind"] == "case") == CASES


def test_directives_ask_for_as_many_tasks_as_there_are_shares() -> None:
    text = SCRIPT.read_text(encoding="utf-8")

    assert re.search(r"^#SBATCH --array=1-\d+$", text, re.MULTILINE)
    assert "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" in text
    # Directives behind the first command are not read.
    assert text.rindex("#SBATCH") < text.index("set -euo")
