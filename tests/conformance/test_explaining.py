"""`conformance explain`: a case from a report or from a rerun, for people, as a document, and as a script."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from conformance.conclude import Conclusion
from conformance.errors import UsageError
from conformance.explaining.account import accounts_in
from conformance.explaining.rerunning import rerun
from conformance.maps import drawn
from conformance.records import Line, ReportWriter, footer, header
from conformance.request import Request

ABOUT = {
    "suite": "0",
    "torch": "2.11.0+cu130",
    "path": "sm90",
    "platform": "cuda",
    "arch": "sm90",
    "runtime": "13.0",
    "driver": "580.159.04",
    "device": "cuda",
    "device_name": "NVIDIA H200",
    "backends": {"torch-v1": {"call": "torch._scaled_mm", "cublas": "13.1.0.3"}, "mine": {}},
    "specs": {"torch-v1": "torch-v1", "mine": "mykernel:MyKernel"},
    "profile": "quick",
    "seed": 3,
}
WRONG_ID = "gemm/1x128-128x128/m84-n512-k640/bf16/tagged-integers/s0"
RIGHT_ID = "layout/as-padded/1x128-128x128/m5-n144-k400/fp32/uniform-codes/s1"
REFUSED_ID = "rule/k-unaligned/1x128-128x128/m84-n256-k512/bf16/tagged-integers/s0"
BASE = {"kind": "case", "backend": "torch-v1", "reason": "", "seconds": 0.0, "input_digest": "", "output_digest": ""}
READING = "reading the B scales with leading dimension 8 instead of 5"
WRONG = {
    **BASE,
    "id": WRONG_ID,
    "verdict": "known-deviation",
    "reason": "wrong-values",
    "deviation": "v1-b-scales-overrun",
    "detail": "32056 of 43008 elements (74.5%) are wrong, the first at (0, 128): 12.25 for 1",
    "path": "sm90",
    "expected": "compute",
    "tier": "exact",
    "elements": 43008,
    "wrong": 32056,
    "not_finite": 0,
    "worst_ulp": 17,
    "worst_at": [3, 200],
    "rel_diff": 142.0,
    "input_digest": "0123456789abcdef",
    "shape": "columns",
    "where": "all rows and columns 128 to 511",
    "picture": {
        "size": [84, 512],
        "cell": [8, 16],
        "rows": ["." * 8 + "#" * 24 + "*9", "." * 8 + "+" * 24 + "*2"],
    },
    "first_wrong": [
        {
            "row": 0,
            "column": 128,
            "actual": "0x1.88p+3",
            "expected": "0x1.0p+0",
            "actual_bits": "0x4144",
            "expected_bits": "0x3f80",
        }
    ],
    "fault": "b-leading-dimension",
    "finding": f"all 32056 wrong elements equal the result of {READING}",
}
RIGHT = {
    **BASE,
    "id": RIGHT_ID,
    "backend": "mine",
    "verdict": "passed",
    "expected": "compute",
    "tier": "bits",
    "arithmetic": "sm90",
    "elements": 720,
    "worst_ulp": 1,
    "worst_at": [0, 7],
    "err_over_bound": 0.5,
    "plan": 4,
    "explained": 720,
}
REFUSED = {
    **BASE,
    "id": REFUSED_ID,
    "verdict": "rejected",
    "expected": "refuse K16",
    "detail": "RuntimeError: Expected trailing dimension of mat1 to be divisible by 16",
}
SMALLEST = "gemm/1x128-128x128/m1-n16-k144/fp32/uniform-codes/s0"
BATCH = {
    **BASE,
    "id": "generated/s0",
    "backend": "mine",
    "verdict": "failed",
    "reason": "out-of-bound",
    "expected": "right or refused",
    "reproduce": SMALLEST,
    "detail": f"{SMALLEST}: 1 of 16 elements is wrong",
}
PASSED_BATCH = {**BASE, "id": "generated/s1", "backend": "mine", "verdict": "passed", "detail": "100 passed"}
LINES = (WRONG, RIGHT, REFUSED, BATCH, PASSED_BATCH)


def write(folder: Path, *lines: Line, ended: bool = True, **about: Any) -> Path:
    writer = ReportWriter(folder)
    writer.write(header({**ABOUT, **about}))
    for line in lines:
        writer.write(line)
    if ended:
        writer.write(footer(lines, complete=True, conclusion=Conclusion(0, "")))
    writer.close()
    return folder


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A report in the working directory, so that its name has room in a line."""
    monkeypatch.chdir(tmp_path)
    return str(write(Path("report"), *LINES))


def conformance(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["conformance", *arguments])
    with pytest.raises(SystemExit) as ending:
        main()
    assert isinstance(ending.value.code, int)
    return ending.value.code


def explained(
    *arguments: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int = 80
) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    code = conformance("explain", *arguments, monkeypatch=monkeypatch)
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    return out


def flat(text: str) -> str:
    return " ".join(text.split())


# From a report


def test_a_wrong_case_is_told_in_full(
    report: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = explained(WRONG_ID, "--report", report, monkeypatch=monkeypatch, capsys=capsys)

    for said in (
        "torch-v1 known-deviation: wrong-values",
        "A [84, 640] in e4m3fn times B [512, 640] in e4m3fn transposed, [84, 512] in bfloat16",
        "1x128-128x128: a scale for 128 of K in each row of A, and for each 128 x 128 block of B",
        "tagged-integers, seed 0 under suite seed 3 catches any wrong scale",
        "gemm: one plain call",
        "As float32 [84, 5] [1, 84]",
        "digest of their bytes: 0123456789abcdef",
        "a right product",
        "torch._scaled_mm on cuda/sm90: measured",
        "exact: every partial sum is exact, so every element must be the right one",
        "sm90, NVIDIA H200, cublas 13.1.0.3, torch 2.11.0+cu130, driver 580.159.04",
        f"the report {report}",
        "v1-b-scales-overrun: v1 accepts only B scales without padding",
        "43008 elements, 32056 wrong, 0 not finite, rel_diff 142.0",
        "17 at (3, 200)",
        "map of the wrong elements (columns)",
        "0 128 got 12.25 0x1.88p+3 0x4144 expected 1 0x1.0p+0 0x3f80",
        "b-leading-dimension",
        f"all 32056 wrong elements equal the result of {READING}",
        f"conformance run --backend torch-v1 --device cuda --seed 3 --case {WRONG_ID}",
        f"conformance explain {WRONG_ID} --backend torch-v1 --report {report} --script",
    ):
        assert said in flat(out)
    assert "\x1b" not in out


@pytest.mark.parametrize("line", LINES, ids=[str(line["id"]) for line in LINES])
def test_eighty_columns_are_enough(
    line: Line, report: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = explained(str(line["id"]), "--report", report, monkeypatch=monkeypatch, capsys=capsys).splitlines()

    long = [text for text in lines if len(text) > 80]
    assert all(text.startswith(("  conformance ", str(line["id"]))) for text in long)
    assert not any(text != text.rstrip() for text in lines)


def test_a_case_that_passed_is_told_too(
    report: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = flat(explained(RIGHT_ID, "--report", report, monkeypatch=monkeypatch, capsys=capsys))

    assert "mine passed" in out
    assert "catches a leading dimension of the A scales that is ignored, its padding that is read" in out
    assert "As float32 [5, 4] [1, 9]" in out
    assert "bits: the arithmetic sm90 has to give every bit, under some split of K" in out
    assert "720 of 720 explained by sm90" in out
    assert "err/bound 0.5" in out
    assert "conformance run --backend mykernel:MyKernel" in out
    assert "map of" not in out


def test_a_refusal_is_told_with_the_text_that_was_owed_and_the_one_that_came(
    report: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = flat(explained(REFUSED_ID, "--report", report, monkeypatch=monkeypatch, capsys=capsys))

    assert "RuntimeError matching 'Expected trailing dimension of mat1 to be divisible by 16' (K16)" in out
    assert "detail RuntimeError: Expected trailing dimension of mat1 to be divisible by 16" in out


def test_a_generated_batch_is_told_by_its_smallest_failure(
    report: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = flat(explained("generated/s0", "--report", report, monkeypatch=monkeypatch, capsys=capsys))
    named = flat(explained(SMALLEST, "--report", report, monkeypatch=monkeypatch, capsys=capsys))
    passed = flat(explained("generated/s1", "--report", report, monkeypatch=monkeypatch, capsys=capsys))

    assert failed == named
    assert f"smallest {SMALLEST}" in failed
    assert "A [1, 144] in e4m3fn times B [16, 144]" in failed
    assert f"--case {SMALLEST}" in failed
    assert ("passed" in passed, "100 passed" in passed, "times B" in passed) == (True, True, False)


def test_the_document_has_all_of_it(
    report: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = explained(WRONG_ID, RIGHT_ID, "--report", report, "--json", monkeypatch=monkeypatch, capsys=capsys)
    wrong, right = json.loads(out)

    assert {name: wrong[name] for name in WRONG} == WRONG
    assert wrong["question"]["scenario"] == "gemm: one plain call"
    assert [each["name"] for each in wrong["operands"]] == ["A", "B", "As", "Bs"]
    assert wrong["owed"]["words"] == "a right product"
    assert wrong["machine"]["device_name"] == "NVIDIA H200"
    assert right["id"] == RIGHT_ID


def test_one_of_several_backends_is_chosen_by_its_name_or_as_it_was_called(tmp_path: Path) -> None:
    report = write(tmp_path / "r", RIGHT, {**RIGHT, "backend": "torch-v1"})

    assert [x.backend for x in accounts_in(report, [RIGHT_ID])] == ["mine", "torch-v1"]
    assert [x.backend for x in accounts_in(report, [RIGHT_ID], ["mykernel:MyKernel"])] == ["mine"]
    assert [x.backend for x in accounts_in(report, [RIGHT_ID], ["torch-v1"])] == ["torch-v1"]


@pytest.mark.parametrize(
    ("case", "backends", "said"),
    [
        (WRONG_ID.replace("m84", "m83"), [], f"did you mean '{WRONG_ID}'?"),
        ("generated/s7", [], "did you mean 'generated/s"),
        (WRONG_ID, ["torch-v2"], "did you mean 'torch-v1'?"),
        (WRONG_ID, ["mine"], "unknown case of the report"),
    ],
)
def test_what_is_not_in_the_report_is_one_sentence(case: str, backends: list[str], said: str, report: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        accounts_in(Path(report), [case], backends)


def test_a_report_of_a_run_that_was_killed_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = str(write(tmp_path / "cut", WRONG, ended=False))
    out = explained(WRONG_ID, "--report", report, monkeypatch=monkeypatch, capsys=capsys)

    assert "whose run did not come to its end" in flat(out)


def test_a_report_without_cases_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no cases"):
        accounts_in(write(tmp_path / "none", ended=False), [WRONG_ID])


HOSTILE = "\x1b[31m[bold]x[/]\r\n\x07$(reboot)"


def test_a_hostile_report_writes_nothing_but_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = {**WRONG, "backend": HOSTILE, "detail": HOSTILE, "finding": HOSTILE, "fault": HOSTILE, "where": HOSTILE}
    bad |= {
        "picture": {"size": [HOSTILE, 1], "cell": [1, 1], "rows": [HOSTILE]},
        "shape": HOSTILE,
        "deviation": HOSTILE,
    }
    bad |= {"first_wrong": [{"row": HOSTILE, "column": 1, "actual": HOSTILE, "expected": "0x1p+0"}]}
    backends = {HOSTILE: {HOSTILE: HOSTILE}}
    report = str(write(tmp_path / "bad", bad, device_name=HOSTILE, backends=backends, specs={HOSTILE: HOSTILE}))
    out = explained(WRONG_ID, "--report", report, monkeypatch=monkeypatch, capsys=capsys)

    assert not set(out) & {"\x1b", "\r", "\x07"}
    assert "[bold]x[/]" in out
    # In a command it is one word, in quotes.
    assert "'�[31m[bold]x[/] �$(reboot)'" in out


@pytest.mark.parametrize("more", [(), ("--json",), ("--script",)])
def test_reading_a_report_needs_no_torch(more: tuple[str, ...], report: str) -> None:
    code = "import sys; sys.modules['torch'] = None; from conformance.cli import main; main()"
    command = [sys.executable, "-c", code, "explain", WRONG_ID, "--report", report, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "torch._scaled_mm" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((WRONG_ID, "--report", "nowhere"), "there is no report"),
        ((WRONG_ID, "--report", "REPORT", "--device", "cpu"), "--device and --seed belong to a rerun"),
        ((WRONG_ID, "--report", "REPORT", "--seed", "0"), "--device and --seed belong to a rerun"),
        ((WRONG_ID, "--report", "REPORT", "--to", "x.py"), "add --script"),
        ((WRONG_ID, "--report", "REPORT", "--script", "--json"), "choose one"),
        ((WRONG_ID, "generated/s0", "--report", "REPORT", "--script"), "of torch-v1, mine"),
        ((WRONG_ID, "--report", "REPORT", "--script", "--to", "no/where.py"), "cannot be written"),
        (("generated/s1", "--report", "REPORT", "--script"), "no script can be made"),
        ((WRONG_ID.replace("m84", "m83"), "--report", "REPORT"), "did you mean"),
    ],
)
def test_a_wrong_call_is_one_sentence(
    arguments: tuple[str, ...],
    said: str,
    report: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    placed = [report if argument == "REPORT" else argument for argument in arguments]
    code = conformance("explain", *placed, monkeypatch=monkeypatch)
    out, err = capsys.readouterr()

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert said in err


# The script on the command line


def test_a_script_from_a_report_goes_to_a_file(
    report: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "defect.py"
    arguments = ("explain", WRONG_ID, "--report", report, "--script")
    printed = conformance(*arguments, monkeypatch=monkeypatch), capsys.readouterr()
    written = conformance(*arguments, "--to", str(target), monkeypatch=monkeypatch), capsys.readouterr()

    assert printed[0] == written[0] == 0
    assert printed[1].out == target.read_text() != ""
    assert written[1].out == ""
    assert written[1].err == printed[1].err == "conformance: the script was made from the report and was not run\n"
    assert "torch 2.11.0+cu130, cublas 13.1.0.3, driver 580.159.04, on NVIDIA H200" in target.read_text()


def test_a_script_from_a_rerun_is_run_before_it_is_handed_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case = "gemm/1x128-128x128/m5-n16-k400/bf16/quantised-normal/s0"
    target = tmp_path / "defect.py"
    arguments = ("explain", case, "--backend", "kernels:NextScale", "--device", "cpu", "--script", "--to", str(target))
    code = conformance(*arguments, monkeypatch=monkeypatch)
    assert code == 0
    assert capsys.readouterr().err == "conformance: the script was run here, and shows it\n"
    assert "and they show it" in target.read_text()


# From a rerun


def test_a_rerun_knows_the_ranges_and_settles_by_the_ledger() -> None:
    case = "state/fake/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
    right, known = rerun(Request(("native", "torch-v1"), "cpu", cases=(case,)))

    assert right.measured["ranges"] == {"A": "-1 to 1", "B": "-1 to 1", "As": "1 to 30", "Bs": "2 to 25"}
    assert known.line["verdict"] in ("known-deviation", "rejected")
    assert known.header["specs"] == {"native": "native", "torch-v1": "torch-v1"}


def test_a_rerun_of_a_batch_comes_down_to_its_smallest_failure() -> None:
    failed, passed = rerun(Request(("kernels:NextScale", "kernels:Reversed"), "cpu", cases=("generated/s0",)))

    assert (failed.line["id"], failed.line["verdict"]) == ("generated/s0", "failed")
    assert failed.case is not None
    assert failed.case.id == failed.line["reproduce"] == failed.id
    assert "using the B scale of the previous K block" in failed.line["finding"]
    assert (passed.line["verdict"], passed.case) == ("passed", None)


# Maps


def test_a_map_is_drawn_with_its_places_and_its_meaning() -> None:
    picture = {
        "size": [84, 512],
        "cell": [8, 16],
        "rows": ["." * 8 + "#" * 24 + "*9", "." * 8 + "-" * 24 + "*2"],
    }

    assert drawn(picture) == [
        "column  0       128     256     384",
        " row 0  ........########################",
        *(f"{8 * i:>6}  ........########################" for i in range(1, 9)),
        *(f"{8 * i:>6}  ........------------------------" for i in (9, 10)),
        "8 rows x 16 columns a character: . none wrong, - some, # all",
    ]


def test_a_map_of_single_elements_says_so() -> None:
    assert drawn({"size": [1, 2], "cell": [1, 1], "rows": ["#."]}) == [
        "column  0",
        " row 0  #.",
        "1 row x 1 column a character: . none wrong, # all",
    ]


@pytest.mark.parametrize(
    "picture",
    [
        None,
        {},
        3,
        {"size": [2, 2], "cell": [1, 1], "rows": ["##"]},
        {"size": [2, 2], "cell": [1, 1], "rows": ["##*3"]},
        {"size": [2, 2], "cell": [1, 1], "rows": ["#", "##"]},
        {"size": [2, 2], "cell": [1, 1], "rows": ["#x*2"]},
        {"size": [2, 2], "cell": [0, 1], "rows": ["##*2"]},
        {"size": [2, 2], "cell": ["1", 1], "rows": ["##*2"]},
        {"size": [10**9, 2], "cell": [1, 1], "rows": ["##*9999"] * 10**4},
        {"size": [2, 10**9], "cell": [1, 1], "rows": ["#" * 10**6 + "*2"]},
        {"size": [2, 2], "cell": [1, 1], "rows": [3]},
        {"size": [2, 2], "cell": [1, 1]},
    ],
)
def test_what_is_no_map_has_no_lines(picture: Any) -> None:
    assert drawn(picture) == []
