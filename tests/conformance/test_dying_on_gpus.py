"""Kernels that lose the context of a GPU or do not come to an end; on machines without one there are none to test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from conformance.records import read_report

HERE = Path(__file__).parent.parent
CASES = [f"gemm/1x128-128x128/m{m}-n144-k384/bf16/integer-codes/s0" for m in (3, 4, 5, 6, 7)]
EXPECTED = [
    ("IllegalAddress", {"device-poisoned", "process-died", "raised"}),
    ("DeviceAssert", {"device-poisoned", "process-died", "raised"}),
    ("Spins", {"hung"}),
    ("LacksMemory", {"raised"}),
]

if torch.cuda.is_available():

    @pytest.mark.parametrize(("kernel", "reasons"), EXPECTED)
    def test_a_gpu_that_a_kernel_has_lost_costs_one_case(kernel: str, reasons: set[str], tmp_path: Path) -> None:
        cases = [word for case in CASES for word in ("--case", case)]
        code = f"import sys; sys.path.append({str(HERE)!r}); from conformance.cli import main; main()"
        asked = ["run", "--backend", f"gpu_dying_kernels:{kernel}", *cases, "--timeout", "20"]
        done = subprocess.run(
            [sys.executable, "-c", code, *asked, "--report", str(tmp_path)], capture_output=True, text=True, check=False
        )
        _, lines, footer = read_report(tmp_path)
        by_verdict = {line["id"]: (line["verdict"], line["reason"]) for line in lines}

        assert (done.returncode, footer and footer["counts"]) == (1, {"failed": 1, "passed": 4}), done.stderr
        assert by_verdict[CASES[2]][0] == "failed"
        assert by_verdict[CASES[2]][1] in reasons
