"""Two reports compared: every kind of change, exit codes, bad reports, terminal and Markdown."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from conformance.cli import main
from conformance.conclude import Conclusion
from conformance.diff.kinds import KINDS, STATES, TRANSITIONS
from conformance.diff.markdown import render
from conformance.diff.result import Diff, between, diff
from conformance.diff.sides import Side
from conformance.form import OPTIONAL, REQUIRED, SCHEMA_VERSION
from conformance.records import ReportWriter, footer, header
from conformance.verdict import VERDICTS, Reason

Line = dict[str, Any]
ABOUT = {"suite": "0", "torch": "2.13.0", "path": "cpu", "backends": {"b": {}}, "profile": "quick", "seed": 0}
BASE = {"kind": "case", "id": "gemm/x", "backend": "b", "check": "f", "reason": "", "seconds": 0.0}
DIGESTS = {"input_digest": "i", "output_digest": "o"}


def line(verdict: str, **more: Any) -> Line:
    return {**BASE, **DIGESTS, "verdict": verdict, **more}


ANCHOR = line("passed", id="gemm/anchor")
"""A case that nothing happens to, so that two reports have one in common."""


def write(folder: Path, *lines: Line, complete: bool = True, ended: bool = True, **about: Any) -> Path:
    writer = ReportWriter(folder)
    writer.write(header({**ABOUT, **about}))
    for each in lines:
        writer.write(each)
    if ended:
        writer.write(footer(lines, complete=complete, conclusion=Conclusion(0, "")))
    writer.close()
    return folder


def compared(tmp_path: Path, old: list[Line], new: list[Line], **of_new: Any) -> Diff:
    return diff(write(tmp_path / "old", ANCHOR, *old), write(tmp_path / "new", ANCHOR, *new, **of_new))


FAILED = line("failed", reason="raised")
KNOWN = line("known-deviation", reason="raised", deviation="d")
CHANGES: list[tuple[str, list[Line], list[Line], int]] = [
    ("regressed", [line("passed")], [FAILED], 1),
    ("regressed", [line("rejected")], [line("stale-deviation")], 1),
    ("regressed", [KNOWN], [line("error", reason="harness")], 1),
    ("newly-wrong", [], [FAILED], 1),
    ("newly-wrong", [line("unsupported")], [FAILED], 1),
    ("newly-refused", [line("passed")], [line("rejected")], 1),
    ("newly-skipped", [line("passed")], [line("not-run")], 1),
    ("newly-unsupported", [FAILED], [line("unsupported")], 1),
    ("removed", [line("passed")], [], 1),
    ("newly-known-wrong", [line("passed")], [KNOWN], 0),
    ("wrong-otherwise", [FAILED], [line("failed", reason="accepted")], 0),
    ("changed-case", [line("passed")], [line("passed", input_digest="j", output_digest="p")], 0),
    ("judged-otherwise", [line("passed", tier="bits")], [line("passed", tier="bound")], 0),
    ("unconfirmed", [line("passed", arithmetic="sm90")], [line("passed", arithmetic="unconfirmed")], 0),
    ("other-property", [line("passed", holds=True)], [line("passed", holds=False)], 0),
    ("other-bits", [line("passed")], [line("passed", output_digest="p")], 0),
    ("other-plan", [line("passed", plan=4)], [line("passed", plan=8)], 0),
    ("other-text", [line("rejected", detail="no")], [line("rejected", detail="No")], 0),
    ("other-batch", [line("passed", check="generated")], [line("passed", check="generated", detail="1 passed")], 0),
    ("fixed", [FAILED], [line("rejected")], 0),
    ("fixed", [KNOWN], [line("passed")], 0),
    ("newly-computed", [line("rejected")], [line("passed")], 0),
    ("entered", [FAILED], [KNOWN], 0),
    ("confirmed", [line("passed", arithmetic="unconfirmed")], [line("passed", arithmetic="sm90")], 0),
    ("newly-covered", [line("unsupported")], [line("passed")], 0),
    ("new", [], [line("rejected")], 0),
    ("still-wrong", [FAILED], [FAILED], 0),
    ("still-wrong", [KNOWN], [{**KNOWN, "deviation": "e"}], 0),
    ("not-run", [line("not-run")], [line("not-run")], 4),
    ("dropped", [line("unsupported")], [], 0),
]


@pytest.mark.parametrize(("change", "old", "new", "code"), CHANGES, ids=[f"{i}-{x[0]}" for i, x in enumerate(CHANGES)])
def test_each_change_is_found_and_only_it(
    change: str, old: list[Line], new: list[Line], code: int, tmp_path: Path
) -> None:
    found = compared(tmp_path, old, new)

    assert (found.counts, found.code) == ({change: 1}, code)
    assert (f"1 {KINDS[change].words}" in found.sentence) is True


def test_the_changes_above_are_all_that_there_are() -> None:
    assert {change for change, *_ in CHANGES} == KINDS.keys() - {"not-selected"}
    assert STATES.keys() == {*VERDICTS, ""}
    assert {*TRANSITIONS.values()} - {""} <= KINDS.keys()
    assert len(TRANSITIONS) == len({*STATES.values()}) ** 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (line("passed", seconds=1.0), line("passed", seconds=9.0)),
        (line("passed", deterministic=False), line("passed", deterministic=False, output_digest="p")),
        (line("failed", detail="3 are wrong"), line("failed", detail="4 are wrong")),
        (line("rejected", detail="no\nat 0x1"), line("rejected", detail="no\nat 0x2")),
    ],
)
def test_times_and_what_need_not_repeat_are_no_change(old: Line, new: Line, tmp_path: Path) -> None:
    assert compared(tmp_path, [old], [new]).counts.keys() <= {"still-wrong"}


def test_a_selection_answers_for_nothing_else(tmp_path: Path) -> None:
    for of_new in ({"complete": False}, {"profile": "standard"}):
        found = compared(tmp_path, [line("passed"), line("unsupported", id="gemm/y")], [], **of_new)

        assert (found.counts, found.code) == ({"not-selected": 2}, 0)


@pytest.mark.parametrize("of_new", [{"ended": False}, {"seed": 1}])
def test_what_cannot_be_compared_is_never_green_and_says_why(of_new: dict[str, Any], tmp_path: Path) -> None:
    found = compared(tmp_path, [], [], **of_new)

    assert found.code == 4
    assert re.match("INCOMPLETE: NEW is incomplete" if "ended" in of_new else "INCOMPARABLE: OLD has", found.sentence)


def test_an_incomplete_old_and_reports_without_a_common_case_prove_nothing(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole", ANCHOR)

    assert diff(write(tmp_path / "killed", ANCHOR, ended=False), whole).code == 4
    assert "no case is in both" in diff(write(tmp_path / "other", line("passed")), whole).sentence


def test_a_doubt_comes_before_a_regression(tmp_path: Path) -> None:
    regressed = compared(tmp_path, [line("passed")], [FAILED], ended=False)

    assert (regressed.counts, regressed.code) == ({"regressed": 1}, 4)
    assert regressed.sentence.startswith("INCOMPLETE: NEW is incomplete")


def test_a_backend_that_is_no_longer_judged_is_lost_coverage(tmp_path: Path) -> None:
    found = compared(tmp_path, [line("passed", backend="c")], [], backends={"b": {}})

    assert (found.counts, found.code, found.sentence[:13]) == ({"removed": 1}, 1, "COVERAGE LOST")
    assert found.differences[0].backend == "c"


def test_two_kernels_are_compared_by_id(tmp_path: Path) -> None:
    one = write(tmp_path / "one", line("passed"), backends={"b": {}})
    other = line("failed", reason="raised", backend="c")
    alone = write(tmp_path / "alone", other, backends={"c": {}})
    both = write(tmp_path / "both", line("passed"), other, backends={"b": {}, "c": {}})

    assert diff(one, alone).counts == {"regressed": 1}
    assert diff(both, both, "b=c").counts == {"regressed": 1}
    assert diff(both, both, "b=c").differences[0].backend == "b → c"
    assert diff(both, both, "b=b").counts == {}


def test_the_runs_are_told_apart_by_their_headers(tmp_path: Path) -> None:
    about = {"torch": "2.14.1", "driver": "5", "backends": {"b": {"cublas": "13"}}}
    found = compared(tmp_path, [], [], **about)

    assert found.runs == (("torch", "2.13.0", "2.14.1"), ("driver", "none", "5"), ("b cublas", "none", "13"))
    assert found.sentence == "NO REGRESSION: nothing changed (torch 2.13.0 → 2.14.1, 1 case in both)"


def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[object, str, str]:
    monkeypatch.setattr(sys, "argv", ["conformance", "diff", *arguments])
    with pytest.raises(SystemExit) as ending:
        main()
    return ending.value.code, *capsys.readouterr()


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = str(write(tmp_path / "old", ANCHOR, line("passed"))), str(write(tmp_path / "new", ANCHOR, FAILED))
    killed = str(write(tmp_path / "killed", ANCHOR, ended=False) / "report.jsonl")

    assert command(monkeypatch, capsys, old, old)[0] == 0
    assert command(monkeypatch, capsys, old, killed)[0] == 4
    code, out, _ = command(monkeypatch, capsys, old, new)
    assert (code, out.splitlines()[-1][:25]) == (1, "REGRESSED: 1 regressed (t")
    assert max(map(len, out.splitlines())) <= 80
    code, out, _ = command(monkeypatch, capsys, old, new, "--json")
    assert (code, json.loads(out)["exit_code"], json.loads(out)["differences"][0]["id"]) == (1, 1, "gemm/x")
    assert command(monkeypatch, capsys, old, new, "--markdown")[1].startswith("**REGRESSED")


def test_a_page_comes_beside_whatever_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = str(write(tmp_path / "old", ANCHOR, line("passed"))), str(write(tmp_path / "new", ANCHOR, FAILED))
    page = tmp_path / "diff.html"

    printed = [command(monkeypatch, capsys, old, new, *more)[:2] for more in ((), ("--html", str(page)))]
    nowhere = command(monkeypatch, capsys, old, new, "--html", str(tmp_path / "no" / "diff.html"))

    assert printed[0] == printed[1]
    said = " ".join(re.sub("<[^>]+>", " ", page.read_text(encoding="utf-8")).split())
    assert "✗ REGRESSED 1 regressed (torch 2.13.0, 2 cases in both)" in said
    assert "✗ regressed right, refused or foreseen before, wrong now; run conformance explain on it" in said
    assert "b · f 1 case passed → failed (raised)" in said
    assert nowhere[0] == 2
    assert "cannot be written" in nowhere[2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--json", "--markdown"), "choose one"),
        (("--across", "b"), "--across takes A=B"),
        (("--across", "bb=b"), "did you mean 'b'?"),
        (("no/such",), "there is no report 'no/such'"),
    ],
)
def test_misuse_is_one_sentence(
    arguments: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    good = str(write(tmp_path / "good", ANCHOR))
    given = (good, *arguments) if arguments[0][0] != "-" else (good, good, *arguments)

    code, out, err = command(monkeypatch, capsys, *given)

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert says in err


HOSTILE = "a|b`c`<script>\n| x | @all #1 [l](u) *s* _e_ \x1b[31m ~~"


def test_hostile_text_breaks_neither_table_nor_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = line("failed", id=HOSTILE, backend=HOSTILE, check=HOSTILE, reason=HOSTILE, detail=HOSTILE)
    old, new = write(tmp_path / "old", ANCHOR), write(tmp_path / "new", ANCHOR, bad, torch=HOSTILE)

    text = render(diff(old, new))
    rows = [row for row in text.splitlines() if row.startswith("|")]
    assert {row.count("|") for row in rows} == {4, 7}
    body = re.sub(r"</?(code|details|summary)>", "", text)
    assert not set("<>`@[]_~\x1b") & set(body)
    assert "\x1b" not in command(monkeypatch, capsys, str(old), str(new))[1]


def test_many_equal_changes_are_one_group(tmp_path: Path) -> None:
    old = [line("passed", id=f"gemm/{i}") for i in range(500)]
    found = compared(tmp_path, old, [{**x, "output_digest": "p"} for x in old])

    assert [len(group.members) for group in found.groups] == [500]
    assert len(render(found).splitlines()) < 20


def test_no_order_of_lines_changes_anything(tmp_path: Path) -> None:
    olds, news = ([line(verdict, id=f"gemm/{i}") for i, verdict in enumerate(x)] for x in (VERDICTS, VERDICTS[::-1]))
    sides = [Side.read(write(tmp_path / str(i), ANCHOR, *lines)) for i, lines in enumerate((olds, news))]
    turned = [Side.read(write(tmp_path / str(i), *lines[::-1], ANCHOR)) for i, lines in enumerate((olds, news))]

    assert between(*sides) == between(*turned)


def test_the_schema_says_what_the_code_requires() -> None:
    path = Path(sys.modules["conformance"].__file__ or "").parent / "report.schema.json"
    kinds = json.loads(path.read_text())["$defs"]

    assert kinds.keys() == REQUIRED.keys()
    for kind, required in REQUIRED.items():
        assert kinds[kind]["required"] == ["kind", *required]
        assert kinds[kind]["properties"].keys() == {"kind", *required, *OPTIONAL[kind]}
    assert kinds["header"]["properties"]["schema"] == {"const": SCHEMA_VERSION}
    assert kinds["case"]["properties"]["verdict"]["enum"] == list(VERDICTS)
    assert kinds["case"]["then"]["properties"]["reason"]["enum"] == list(get_args(Reason))
    for kind, optional in OPTIONAL.items():
        assert kinds[kind]["properties"].keys() == {"kind", *REQUIRED[kind], *optional}


def test_diff_needs_no_torch(tmp_path: Path) -> None:
    import subprocess

    report = f"pathlib.Path({str(write(tmp_path, ANCHOR))!r})"
    check = (
        "import sys; from conformance.diff.result import diff; import conformance.diff.tables as t, pathlib\n"
        f"t.render(diff({report}, {report})); sys.exit('torch' in sys.modules)"
    )
    here = Path(__file__).parent.parent.parent
    assert subprocess.run([sys.executable, "-c", check], check=False, cwd=here, capture_output=True).returncode == 0
