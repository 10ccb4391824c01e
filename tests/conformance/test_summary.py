"""A report in a terminal: the table, the paths, the causes of failures, the headline; `conformance show`."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from report_lines import about, line, write

from conformance.causes import causes_of, reproduction
from conformance.conclude import conclude
from conformance.coverage import told_paths
from conformance.summary import SHOWN, print_summary
from conformance.terminal import console_on
from conformance.verdict import VERDICTS
from conformance.verdict_rows import check_of, rows_of
from conformance.verdict_table import short


def printed(lines: list[dict[str, Any]], width: int = 80, **header: Any) -> str:
    out = io.StringIO()
    print_summary(console_on(out, width=width), about(**header), lines, conclusion=conclude(lines))
    return out.getvalue()


NUMBERS = {"plan": 8, "err_over_bound": 3.2e11, "rel_diff": 8.9e6, "worst_ulp": 3_000_000_000, "seconds": 1234.5}
EVERYTHING = [
    line(verdict, id=f"gemm/{verdict}", check="quantised-outliers-and-more", **NUMBERS) for verdict in VERDICTS
]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_head_and_no_number_is_cut_at_any_width(width: int) -> None:
    text = printed(EVERYTHING * 12_345, width)
    table = text[text.index("b") : text.index("exercised:")]

    words = table.replace("err/", "err/bound").split()
    for head in (
        "pass",
        "refused",
        "fail",
        "stale",
        "error",
        "known",
        "unsup",
        "bits",
        "err/bound",
        "rel_",
        "ulp",
        "s",
    ):
        assert head in words
    assert words.count("12345") == len(VERDICTS)
    assert {"98760", "3.2e11", "8.9e6", "3e9"} <= {*words}
    assert "…" not in text
    assert max(map(len, table.splitlines())) <= width


def test_rows_are_grouped_by_path_and_backend_in_the_order_of_the_header() -> None:
    lines = [
        line("passed", backend="c", check="layout/offset"),
        line("not-run", backend="c", check="layout/strided", path=""),
        line("passed", backend="b", path="sm90", check="layout/offset"),
        line("rejected", backend="b", expected="refuse E8"),
        line("passed", backend="b"),
    ]
    rows = rows_of(about(backends={"c": {}, "b": {}}), lines)

    assert [(row.group, row.check, sum(row.counts.values())) for row in rows] == [
        ("cpu · c", "layouts", 2),
        ("cpu · b", "refuse E8", 1),
        ("cpu · b", "f", 1),
        ("sm90 · b", "layouts", 1),
    ]


def test_the_worst_numbers_of_a_row_are_shown_and_columns_without_any_vanish() -> None:
    lines = [line("passed", worst_ulp=2, rel_diff=0.5), line("passed", worst_ulp=1, rel_diff=1e-7)]
    text = printed(lines)

    assert re.search(r"^ +f +2 +0\.5 +2 +0\.0 *$", text, re.MULTILINE)
    assert not re.search(r"err/|bits|fail|refused", text.split("exercised")[0])


@pytest.mark.parametrize(
    ("number", "text"),
    [(None, ""), (0, "0"), (0.907, "0.91"), (2e-7, "2e-7"), (3.24e11, "3.2e11"), (1.5e-12, "1.5e-12"), (12, "12")],
)
def test_numbers_are_short(number: float | None, text: str) -> None:
    assert short(number) == text


@pytest.mark.parametrize(
    ("expected", "check", "told"),
    [
        ("compute", "uniform-codes", "uniform-codes"),
        ("compute", "layout/offset", "layouts"),
        ("right or refused", "malformed/as-short", "malformed"),
        ("refuse E8", "uniform-codes", "refuse E8"),
    ],
)
def test_a_row_is_named_after_what_is_checked(expected: str, check: str, told: str) -> None:
    assert check_of(line("passed", expected=expected, check=check)) == told


def test_paths_are_told_with_what_real_kernels_did_there() -> None:
    lines = [
        line("passed", computed=True),
        line("rejected"),
        line("known-deviation", path="sm90"),
        line("failed", path="rocm", computed=True),
        line("passed", path="xpu", model=True, computed=True),
        line("unsupported", path="mps"),
    ]

    assert told_paths(lines) == (
        "exercised: cpu (computed, refused), sm90 (wrong as known), rocm (failed); "
        "not exercised: non_sm90, xpu (models only), mps"
    )


WRONG = {"reason": "wrong-values", "detail": "3 of 9 elements are wrong"}


def test_failures_are_grouped_by_fault_else_by_reason_and_shape_the_largest_first() -> None:
    fault = {"fault": "b-leading-dimension", "finding": "B scales are read with a wrong leading dimension"}
    lines = [
        line("failed", id="gemm/0", reason="raised"),
        *(line("failed", id=f"gemm/1{i}", **WRONG, shape="row", where="row 3 alone") for i in range(2)),
        line("failed", id="gemm/2", **WRONG, shape="tile"),
        *(line("failed", id=f"gemm/3{i}", reason=reason, **fault) for i, reason in enumerate(["a", "b", "c"])),
        *(line("failed", id=f"gemm/4{i}", backend="c", **fault) for i in range(4)),
        *(line("rejected", id=f"gemm/5{i}", reason="contract-changed", detail="no more FP8") for i in range(9)),
        line("passed"),
    ]
    causes = causes_of(lines)

    assert [(cause.backend, cause.name, len(cause.members)) for cause in causes] == [
        ("c", "b-leading-dimension", 4),
        ("b", "b-leading-dimension", 3),
        ("b", "wrong-values, row", 2),
        ("b", "raised", 1),
        ("b", "wrong-values, tile", 1),
        ("b", "contract-changed", 9),
    ]
    assert causes[0].sentence == fault["finding"]
    assert causes[2].sentence == "3 of 9 elements are wrong (row 3 alone)"
    text = printed(lines)
    assert "failed 4 cases · c · b-leading-dimension\n  B scales are read" in text
    assert "  conformance run --backend c --case gemm/40\n" in text


def test_causes_that_are_not_shown_are_counted() -> None:
    lines = [line("failed", id=f"gemm/{i}", reason=f"r{i // 2}") for i in range(2 * SHOWN + 5)]
    text = printed(lines)

    assert text.count("conformance run") == SHOWN
    assert "... and 3 more causes of 5 cases" in text


@pytest.mark.parametrize(
    ("header", "more", "command"),
    [
        ({}, {}, "conformance run --backend b --case gemm/x"),
        ({}, {"reproduce": "gemm/y"}, "conformance run --backend b --case gemm/y"),
        ({"specs": {"b": "my:B"}}, {}, "conformance run --backend my:B --case gemm/x"),
        (
            {"seed": 3, "device": "cpu", "command": ["conformance", "run", "--device=cpu"]},
            {},
            "conformance run --backend b --device cpu --seed 3 --case gemm/x",
        ),
        ({}, {"id": "gemm/x; rm *"}, "conformance run --backend b --case 'gemm/x; rm *'"),
    ],
)
def test_one_line_reproduces_a_case(header: dict[str, Any], more: dict[str, Any], command: str) -> None:
    assert reproduction(about(**header), line("failed", **more)) == command


def test_a_hostile_report_writes_text_and_nothing_else() -> None:
    odd = "[red]a[/]\x1b[31m\x07\r\n\u202eb\ud800"
    texts = dict.fromkeys(("id", "backend", "check", "reason", "detail", "where", "path", "fault", "finding"), odd)
    header = {"torch": odd, "profile": odd, "path": odd, "device_name": odd, "backends": {odd: {odd: odd}}}
    text = printed([line("failed", **texts), line("stale-deviation", deviation=odd)], **header)

    assert {char for char in text if not char.isprintable()} == {"\n"}
    assert "[red]a[/]" in text


def show(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    from conformance.cli import main

    monkeypatch.setattr(sys, "argv", ["conformance", "show", *arguments])
    with pytest.raises(SystemExit) as ending:
        main()
    return ending.value.code


@pytest.mark.parametrize(
    ("verdict", "report", "code"),
    [
        ("passed", {}, 0),
        ("failed", {"code": 1}, 1),
        ("error", {"code": 3}, 3),
        ("passed", {"code": 4}, 4),
        ("passed", {"ended": False}, 4),
        ("failed", {"ended": False}, 1),
    ],
)
def test_show_ends_with_the_exit_code_of_the_report(
    verdict: str,
    report: dict[str, Any],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = write(tmp_path, line(verdict), plan={"cases": 7}, **report)

    assert show(monkeypatch, str(folder)) == code
    told = capsys.readouterr().out
    assert show(monkeypatch, str(folder / "report.jsonl"), "--json") == code
    document = json.loads(capsys.readouterr().out)

    assert f"\n{document['summary']}\nrecords: {folder}/report.jsonl\n" in told
    assert document["exit_code"] == code
    assert ("1 of 7 planned cases" in told) is (report.get("ended") is False)


def test_show_writes_the_page_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, page = write(tmp_path / "report", line("passed")), tmp_path / "page.html"

    assert show(monkeypatch, str(folder), "--html", str(page)) == 0
    assert "CONFORMS" in page.read_text()


def test_results_that_cannot_be_printed_are_not_green(tmp_path: Path) -> None:
    folder = write(tmp_path, line("passed"))
    command = [sys.executable, "-m", "conformance", "show", str(folder)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)

    assert done.returncode == 3
    assert done.stderr.startswith("conformance: BROKEN: the results cannot be printed (No space left on device)")
    assert len(done.stderr.splitlines()) == 1


def test_show_needs_no_torch(tmp_path: Path) -> None:
    folder = str(write(tmp_path, line("passed")))
    check = f"import sys; sys.argv = ['conformance', 'show', {folder!r}]; from conformance.cli import main\n"
    check += "try: main()\nfinally: assert 'torch' not in sys.modules"

    assert subprocess.run([sys.executable, "-c", check], check=False, capture_output=True).returncode == 0
