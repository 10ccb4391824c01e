"""Reports that were damaged anywhere, before every command that reads one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from made_reports import ABOUT, about, line, write
from mutations import mutated_bytes, mutated_values
from surface import Judge

from conformance.conclude import Conclusion
from conformance.records import footer

ID = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
WRONG_ELEMENT = {"row": 0, "column": 1, "actual": "0x1p0", "expected": "0x1p1"}
WRONG = line(
    "failed",
    ID.removeprefix("gemm/"),
    reason="wrong-values",
    detail="605 of 720 elements are wrong",
    expected="compute",
    recipe="1x128-128x128",
    shape="k-block",
    where="all rows",
    picture={"size": [5, 144], "cell": [1, 8], "rows": ["+++++#++#+#+++++++"] * 5},
    fault="b-last-k-block",
    finding="all equal the result of another scale",
    tier="exact",
    elements=720,
    wrong=605,
    not_finite=0,
    worst_ulp=34864,
    worst_at=[0, 138],
    rel_diff=0.1,
    err_over_bound=2.5,
    first_wrong=[{**WRONG_ELEMENT, "actual_bits": "0x4469", "expected_bits": "0x4483"}],
    reproduce="conformance run",
)
CASES = (WRONG, line("passed"))
HEADER = about(
    *((case["backend"], case["id"]) for case in CASES), command=["conformance"], specs={"b": "b"}, shard="1/1"
)
FOOTER = footer(CASES, complete=False, conclusion=Conclusion(1, "WRONG: 1 of 2 cases failed"))
READERS: tuple[tuple[str, ...], ...] = (
    ("show", "bad"),
    ("show", "bad", "--json"),
    ("diff", "bad", "good"),
    ("diff", "good", "bad", "--markdown"),
    ("diff", "bad", "bad", "--json"),
    ("merge", "bad", "--report", "written"),
    ("statement", "bad"),
    ("statement", "bad", "--markdown"),
    ("statement", "bad", "--json"),
    ("explain", ID, "--report", "bad", "--json"),
    ("explain", ID, "--report", "bad", "--script"),
    ("run", "--backend", "native", "--device", "cpu", "--case", ID, "--baseline", "bad", "--report", "written"),
    ("show", "bad", "--html", "written"),
    ("diff", "bad", "good", "--html", "written"),
)
"""Every way in which a report is read."""


def text_of(*lines: Any) -> bytes:
    return b"".join(json.dumps(each).encode("utf-8", "surrogatepass") + b"\n" for each in lines)


@pytest.fixture
def bad(place: Path) -> Path:
    write(place / "good", HEADER, *CASES, code=1, complete=False)
    return place / "bad"


@pytest.mark.parametrize("number", range(len(READERS)))
def test_a_report_with_something_else_in_it_is_never_green(number: int, bad: Path, answered: Judge) -> None:
    # With a footer almost every change is found by its digest; without one, readers meet what was changed.
    whole, cut = [HEADER, *CASES, FOOTER], [HEADER, *CASES]
    for seed in range(28):
        (changed,) = mutated_values(cut if seed % 4 else whole, range(100 * number + seed, 100 * number + seed + 1))
        bad.write_bytes(text_of(*changed))
        code = answered(*READERS[number], writes="written")

        assert code != 0 or READERS[number][0] in ("explain", "diff"), changed


def test_a_run_that_goes_on_with_a_report_with_something_else_in_it_is_never_green(
    place: Path, answered: Judge
) -> None:
    asked = {"backends": ["native"], "cases": [ID], "device": "cpu", "seed": 0, "keyword": "m5", "examples": 0}
    asked |= {"profile": "quick", "require": ["cpu"], "quarantined": False, "tp": 1, "deviations": [], "linears": []}
    cut = [{**ABOUT, "kind": "header", "schema": 1, "asked": asked, "torch": torch.__version__}, WRONG]
    (place / "cut").mkdir()
    found = []
    for changed in mutated_values(cut, range(160)):
        (place / "cut" / "report.jsonl").write_bytes(text_of(*changed))

        found.append(answered("run", "-n", "0", "--resume", "cut", writes="cut"))
        assert found[-1] != 0, changed
    assert found.count(2) > 40


@pytest.mark.parametrize("number", range(len(READERS)))
def test_a_report_with_other_bytes_is_never_green(number: int, bad: Path, answered: Judge) -> None:
    text = text_of(HEADER, *CASES, FOOTER)
    for changed in mutated_bytes(text, range(20 * number, 20 * number + 20)):
        bad.write_bytes(changed)
        code = answered(*READERS[number], writes="written")

        assert code != 0 or READERS[number][0] in ("explain", "diff"), changed
