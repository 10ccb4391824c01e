"""JUnit XML of a report: the rules that readers have in common, and nothing in it that is greener than the run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from made_reports import about, line

from conformance.ci.junit import OUTCOMES, suites_of, write_junit
from conformance.conclude import Conclusion
from conformance.records import Line, footer, read_report
from conformance.verdict import VERDICTS

SMALL = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
WRONG = {"row": 0, "column": 128, "actual": "0x1.8p+3", "expected": "0x1.0p+0", "actual_bits": "0x4140"}
LINES = [
    line("passed", "a", seconds=0.25),
    line("rejected", "b", backend="torch-v2", check="state/fake"),
    line(
        "failed",
        "c",
        reason="wrong-values",
        detail="3 are\nwrong",
        first_wrong=[WRONG],
        where="column 128",
        shape="column",
    ),
    line("known-deviation", "d", reason="raised", detail="no", deviation="entry-d"),
    line("unsupported", "e", reason="needs a GPU"),
    line("not-run", "f", detail="the session ended first"),
    line("error", "g", reason="harness", detail="oops"),
    line("stale-deviation", "h", detail="entry says so, and it passes", deviation="entry-h"),
]


def ending(*lines: Line, code: int = 0, sentence: str = "CONFORMS", **more: Any) -> Line:
    return {**footer(lines, complete=True, conclusion=Conclusion(code, sentence)), **more}


def read(folder: Path, lines: list[Line], footer: Line | None, **more: Any) -> ET.Element:
    write_junit(folder, about(**more), lines, footer)
    return ET.parse(folder / "junit.xml").getroot()


def check(root: ET.Element) -> None:
    """The rules that readers of JUnit XML agree on."""
    assert root.tag == "testsuites"
    assert {child.tag for child in root} == {"testsuite"}
    for suite in [root, *root]:
        cases = list(suite.iter("testcase"))
        assert int(suite.attrib["tests"]) == len(cases)
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[attribute]) == sum(case.find(tag) is not None for case in cases)
        assert float(suite.attrib["time"]) == pytest.approx(sum(float(case.attrib["time"]) for case in cases))
    for suite in root:
        assert [child.tag for child in suite] == ["properties"] + ["testcase"] * int(suite.attrib["tests"])
        assert all(each.attrib.keys() == {"name", "value"} for each in suite.iter("property"))
    names = [(case.attrib["classname"], case.attrib["name"]) for case in root.iter("testcase")]
    assert len(set(names)) == len(names)
    for case in root.iter("testcase"):
        assert case.attrib.keys() == {"classname", "name", "file", "time"}
        assert [child.tag for child in case] in ([], ["failure"], ["error"], ["skipped"])
        assert all(child.attrib.keys() == {"message", "type"} for child in case)
        assert all(child.text and "\n" not in child.attrib["message"] for child in case)


def test_every_verdict_is_told_in_the_form_that_readers_know(tmp_path: Path) -> None:
    root = read(tmp_path, LINES, ending(*LINES, code=1, sentence="WRONG: 1 of 8 cases failed"))

    check(root)
    outcomes = {case.attrib["name"][5:]: [(x.tag, x.attrib["type"]) for x in case] for case in root.iter("testcase")}
    assert outcomes == {
        "a": [],
        "b": [],
        "c": [("failure", "failed")],
        "d": [("skipped", "known-deviation")],
        "e": [("skipped", "unsupported")],
        "f": [("skipped", "not-run")],
        "g": [("error", "error")],
        "h": [("failure", "stale-deviation")],
        "usion": [("failure", "WRONG")],
    }
    assert OUTCOMES.keys() == {*VERDICTS} - {"passed", "rejected"}


def case_of(root: ET.Element, name: str) -> ET.Element:
    return next(case for case in root.iter("testcase") if case.attrib["name"] == name)


def test_a_failure_says_why_and_how_to_see_it(tmp_path: Path) -> None:
    (said,) = case_of(read(tmp_path, LINES, None, specs={"b": "my.kernels:B"}, seed=3), "gemm/c")

    assert said.attrib["message"] == "wrong-values: 3 are wrong"
    assert (said.text or "").splitlines() == [
        "wrong-values: 3 are wrong",
        "conformance run --backend my.kernels:B --seed 3 --case gemm/c",
        "shape: column",
        "where: column 128",
        "[0, 128] actual 0x1.8p+3 (0x4140), expected 0x1.0p+0",
    ]


def test_what_is_skipped_says_why(tmp_path: Path) -> None:
    root = read(tmp_path, LINES, None)

    said = {name: case_of(root, f"gemm/{name}")[0] for name in "def"}
    assert {name: each.attrib["message"] for name, each in said.items()} == {
        "d": "entry-d: raised: no",
        "e": "needs a GPU",
        "f": "not run: the session ended first",
    }
    assert all(each.text == each.attrib["message"] for each in said.values())


def test_cases_are_grouped_by_backend_and_check(tmp_path: Path) -> None:
    root = read(tmp_path, LINES, ending(*LINES))

    assert [suite.attrib["name"] for suite in root] == ["b", "torch-v2", "conformance"]
    assert case_of(root, "gemm/b").attrib["classname"] == "torch-v2.state/fake"


def test_the_properties_tell_two_runs_apart(tmp_path: Path) -> None:
    root = read(tmp_path, LINES, (closed := ending(*LINES)), shard="1/3")

    told = {each.attrib["name"]: each.attrib["value"] for each in root[0].iter("property")}
    plan = about()["plan"]["digest"]
    expected = {"torch": "2.13.0", "path": "cpu", "cublas": "13.1", "digest": closed["digest"], "shard": "1/3"}
    assert told.items() >= {*expected.items(), ("plan", f"{plan} (0 cases)")}


@pytest.mark.parametrize(("code", "tag"), [(1, "failure"), (3, "error"), (4, "error")])
def test_a_run_that_is_not_green_has_a_case_that_is_not(code: int, tag: str, tmp_path: Path) -> None:
    passed = [line("passed")]
    for closed, name in (
        (ending(*passed, code=code, sentence="that"), "conclusion"),
        (ending(*passed, baseline={"exit_code": code, "conclusion": "that"}), "baseline"),
    ):
        root = read(tmp_path, passed, closed)
        check(root)
        found = [
            (case.attrib["name"], child.tag, child.attrib["message"])
            for case in root.iter("testcase")
            for child in case
        ]
        assert found == [(name, tag, "that")]
    assert not list(case_of(read(tmp_path, passed, ending(*passed)), "conclusion"))


def test_without_a_footer_it_is_incomplete(tmp_path: Path) -> None:
    for lines in ([], LINES[:2]):
        root = read(tmp_path, lines, None)

        check(root)
        assert [x.tag for x in case_of(root, "conclusion")] == ["error"]
        assert "the report is incomplete, its run was ended after" in case_of(root, "conclusion")[0].attrib["message"]


def test_no_text_breaks_the_document(tmp_path: Path) -> None:
    bad = "\x00\x1b[31m\ud800\ufffe <a>&\"' ]]> \u2028"
    hostile = line("failed", bad, backend=bad, check=bad, reason=bad, detail=bad, first_wrong=[{"actual": bad}])
    header = {"torch": bad, "backends": {bad: {bad: bad}}}

    root = read(tmp_path, [hostile], ending(sentence=bad), **header)

    check(root)
    text = (tmp_path / "junit.xml").read_text(encoding="utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\ufffe\ud800]", text)
    assert "<a>" not in text


def test_ten_thousand_cases_are_no_burden() -> None:
    lines = [line("failed", str(i), reason="raised", detail="no " * 50) for i in range(10_000)]

    assert len(ET.tostring(suites_of(about(), lines, None))) < 10 << 20


def run(pytester: pytest.Pytester, *arguments: str) -> ET.Element:
    suite = ("--pyargs", "conformance.suite", "-p", "no:cacheprovider", "--conformance-device=cpu")
    asked = (*suite, "--conformance-report=out", f"--conformance-case={SMALL}", *arguments)
    pytester.runpytest_inprocess(*asked, no_reraise_ctrlc=True)
    root = ET.parse(pytester.path / "out" / "junit.xml").getroot()
    check(root)
    return root


def test_a_run_leaves_one_beside_its_report(pytester: pytest.Pytester) -> None:
    root = run(pytester, "--conformance-backend=torch-v2", "--conformance-backend=native")

    *_, closed = read_report(pytester.path / "out")
    assert [suite.attrib["name"] for suite in root] == ["torch-v2", "native", "conformance"]
    assert {case.attrib["name"] for case in root.iter("testcase")} == {SMALL, "conclusion"}
    assert closed is not None
    assert f'value="{closed["digest"]}"' in (pytester.path / "out" / "junit.xml").read_text()


def test_a_run_that_is_cut_short_says_so(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def interrupted(*args: object, **kwargs: object) -> None:
        # Until the end is known, the file says that there is none.
        seen.append((pytester.path / "out" / "junit.xml").read_text())
        raise KeyboardInterrupt

    monkeypatch.setattr("conformance.execute.perform", interrupted)
    root = run(pytester, "--conformance-backend=native", "-p", "no:faulthandler")

    assert [x.attrib["type"] for x in case_of(root, SMALL)] == ["not-run"]
    (said,) = case_of(root, "conclusion")
    assert (said.tag, "cut short, 1 of 1" in said.attrib["message"]) == ("error", True)
    assert len(seen) == 1
    assert "the report is incomplete, its run was ended after" in seen[0]
