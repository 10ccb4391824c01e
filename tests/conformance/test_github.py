"""What a GitHub job is told: annotations that no text escapes from, and a summary in which text is only text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from made_reports import Command, about, line, write

from conformance.baseline import Baseline
from conformance.ci.announce import SUMMARY
from conformance.ci.github import MOST, annotate
from conformance.ci.job_summary import LIMIT, summary_of
from conformance.conclude import Conclusion
from conformance.diff.sides import Side
from conformance.records import Line
from conformance.terminal import ACTIONS

SMALL = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
GREEN, RED = Conclusion(0, "CONFORMS: 1 passed"), Conclusion(1, "WRONG: 1 of 1 cases failed")
COMMAND = re.compile(r"::(error|warning) title=([^:,\r\n]+)::([^\r\n]*)")
"""What GitHub takes for a command: none of its parts may hold what ends it."""


def failed(name: str, **more: object) -> Line:
    return line("failed", name, **{"reason": "wrong-values", "detail": "3 are wrong", "shape": "column", **more})


def undone(text: str) -> str:
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


def told(*lines: Line, conclusion: Conclusion = RED) -> list[tuple[str, str, str]]:
    commands = annotate(about(), lines, conclusion, None)
    found = [COMMAND.fullmatch(each) for each in commands]
    assert all(found), commands
    return [(each[1], undone(each[2]), undone(each[3])) for each in found if each]


def test_causes_are_annotated_once_with_the_command_that_shows_them() -> None:
    first, *rest = told(failed("a"), failed("b"), failed("c", reason="raised"), line("passed", "d"))

    assert first == ("error", "conformance", RED.sentence)
    assert rest == [
        (
            "error",
            "b: wrong-values, column (2 cases)",
            "3 are wrong\nconformance run --backend b --case gemm/a",
        ),
        ("error", "b: raised, column (1 case)", "3 are wrong\nconformance run --backend b --case gemm/c"),
    ]


def test_a_green_run_says_nothing_and_another_wording_warns() -> None:
    assert told(line("passed"), line("known-deviation", "d", reason="raised"), conclusion=GREEN) == []
    (warning,) = told(line("rejected", reason="contract-changed", detail="new"), conclusion=GREEN)
    assert warning[0] == "warning"


def test_a_run_that_decides_nothing_is_annotated() -> None:
    assert told(conclusion=Conclusion(4, "INCONCLUSIVE: cut short")) == [
        ("error", "conformance", "INCONCLUSIVE: cut short")
    ]


def test_no_more_annotations_than_are_shown() -> None:
    said = told(*(failed(str(i), shape=f"shape {i}") for i in range(40)))

    assert len(said) == MOST
    assert said[-1][2] == "32 more are in the report"
    assert len(told(*(failed(str(i), shape=f"shape {i}") for i in range(MOST - 1)))) == MOST


HOSTILE = "%0A a,b:c::error title=x::y\r\n::stop-commands::z ##[error]"


def test_no_text_ends_a_command() -> None:
    (_, head, _), (_, title, message) = told(
        failed(HOSTILE, backend=HOSTILE, reason=HOSTILE, detail=HOSTILE), conclusion=Conclusion(1, HOSTILE)
    )

    assert head == "conformance"
    assert title == f"{HOSTILE}: {HOSTILE}, column (1 case)"
    assert message.startswith(HOSTILE + "\n")


def test_the_summary_leads_with_the_verdict_and_groups_failures() -> None:
    wrong = failed("a", first_wrong=[{"row": 1, "column": 2, "actual": "0x1.8p+1", "expected": "0x0p+0"}])
    text = summary_of(about(shard="1/2"), [wrong, failed("b"), line("passed", "c")], RED)

    assert text.startswith(f"### {RED.sentence}\n")
    assert "torch 2.13.0" in text
    assert "shard 1/2" in text
    plain = re.sub(r"&#(\d+);", lambda match: chr(int(match[1])), text)
    assert "<details><summary>b: failed, wrong-values, column (2 cases)</summary>" in plain
    assert "<pre>conformance run --backend b --case gemm/a<br>[1, 2] 0x1.8p+1 for 0x0p+0</pre>" in plain
    assert "| <code>b</code> | <code>f</code> | 1 | 2 |" in plain


MARKUP = "a|b`c`<script>\n| x | @all #1 [l](u) *s* _e_ \x1b[31m ~~ </pre></details>"


def test_text_is_only_text_in_the_summary(tmp_path: Path) -> None:
    wrong = {"row": MARKUP, "actual": MARKUP, "expected": MARKUP}
    bad = line("failed", MARKUP, backend=MARKUP, check=MARKUP, reason=MARKUP, detail=MARKUP, first_wrong=[wrong])
    kept = Baseline.read(write(tmp_path, about(), line("passed", "a")))
    against = kept.compared(Side(about(torch=MARKUP), {(MARKUP, MARKUP): bad}, None))

    text = summary_of(about(torch=MARKUP, device_name=MARKUP), [bad], Conclusion(1, MARKUP), against)

    body = re.sub(r"</?(code|details|summary|pre|br)>", "", text)
    assert not set("<>`@[]_~\x1b") & set(body)
    assert text.count("<details>") == text.count("</details>") == 3
    assert {row.count("|") for row in text.splitlines() if row.startswith("|")} <= {4, 5, 7}


def test_the_summary_stays_under_its_limit_and_whole() -> None:
    long = "|" * 2000
    many = [failed(f"{i}{long}", check=f"{i}{long}", reason=f"{i // 10}{long}", detail=long) for i in range(600)]

    text = summary_of(about(), many, RED)
    assert len(text.encode()) < LIMIT / 2 + 100
    assert text.count("<details>") == text.count("</details>") > 2
    assert text.endswith("... and more, which is in the report\n\n")
    few = summary_of(about(), [failed(str(i), check=str(i), reason=str(i)) for i in range(300)], RED)
    assert "... and 260 more causes" in few
    assert "... and 100 more\n" in few


def judge(command: Command, folder: Path, backend: str) -> tuple[int, str, str]:
    asked = ("--backend", backend, "--device", "cpu", "--case", SMALL, "--report", folder)
    return command("run", "-n", 0, *asked)


def test_a_job_is_told_on_stderr_and_in_its_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    quiet = judge(command, tmp_path / "a", "kernels:NextScale")
    monkeypatch.setenv(ACTIONS, "true")
    monkeypatch.setenv(SUMMARY, str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")
    loud = judge(command, tmp_path / "b", "kernels:NextScale")

    assert [said[2].count("::error title=") for said in (quiet, loud)] == [0, 2]
    assert (quiet[0], loud[0], "::error" in loud[1]) == (1, 1, False)
    assert (tmp_path / "summary.md").read_text().startswith("before\n### WRONG: 1 of 1")


def test_a_merge_and_a_diff_are_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    one = write(tmp_path / "one", about(shard="1/2"), line("passed", "a"), complete=False)
    other = write(tmp_path / "other", about(), failed("a"), code=1)
    monkeypatch.setenv(ACTIONS, "true")
    monkeypatch.setenv(SUMMARY, str(tmp_path / "summary.md"))

    assert "::error title=conformance::INCONCLUSIVE" in command("merge", one, "--report", tmp_path / "m")[2]
    assert command("diff", one, other)[0] == 1
    text = (tmp_path / "summary.md").read_text()
    assert [text.count(word) for word in ("### INCONCLUSIVE", "**REGRESSED")] == [1, 1]


@pytest.mark.parametrize(("room", "told"), [(True, "cannot be written"), (False, "no room for more")])
def test_a_summary_that_takes_nothing_changes_no_verdict(
    room: bool, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    same = write(tmp_path / "same", about(), line("passed", "a"))
    file = tmp_path / "no" / "folder" if room else tmp_path / "full"
    if not room:
        file.write_text("x" * LIMIT)
    monkeypatch.setenv(SUMMARY, str(file))

    code, _, err = command("diff", same, same)
    assert (code, told in err, len(err.splitlines())) == (0, True, 1)


def test_the_session_under_pytest_tells_its_job(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ACTIONS, "true")
    asked = (f"--conformance-case={SMALL}", "--conformance-backend=torch-v2", "--conformance-device=cpu")
    result = pytester.runpytest_inprocess("--pyargs", "conformance.suite", "-p", "no:cacheprovider", *asked)

    result.stderr.fnmatch_lines(["::error title=conformance::INCONCLUSIVE*"])
