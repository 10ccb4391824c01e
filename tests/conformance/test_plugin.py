"""The pytest plugin: outcomes, markers, and books that stay honest when things go wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SMALL = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
SUITE = ("--pyargs", "conformance.suite", "-p", "no:cacheprovider")


@pytest.fixture(autouse=True)
def _kernels_are_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(*SUITE, "--conformance-device=cpu", "--conformance-report=out", *arguments)


def report(pytester: pytest.Pytester) -> list[dict[str, object]]:
    return [json.loads(text) for text in (pytester.path / "out" / "report.jsonl").read_text().splitlines()]


def test_verdicts_become_outcomes(pytester: pytest.Pytester) -> None:
    backends = ("native", "torch-v2", "kernels:NextScale", "kernels:Unsupported")
    result = run(pytester, f"--conformance-case={SMALL}", *(f"--conformance-backend={name}" for name in backends))

    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["rejected"], outcomes["failed"], outcomes["skipped"]) == (1, 1, 1, 1)
    assert result.ret == 1
    verdicts = {line["backend"]: line["verdict"] for line in report(pytester) if line["kind"] == "case"}
    assert verdicts == {
        "native": "passed",
        "torch-v2": "rejected",
        "next-scale": "failed",
        "unsupported": "unsupported",
    }


@pytest.mark.parametrize("case", [SMALL, "generated/s0"])
def test_one_kind_of_case_leaves_nothing_of_the_other(pytester: pytest.Pytester, case: str) -> None:
    result = run(pytester, f"--conformance-case={case}", "--conformance-backend=kernels:Reversed")

    assert result.parseoutcomes() == {"passed": 1}


def test_a_page_that_cannot_be_made_changes_no_verdict(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import conformance.html.page
        def broken(report, page):
            raise OSError("no space\\nleft")
        conformance.html.page.write_page = broken
        """
    )
    result = run(pytester, f"--conformance-case={SMALL}", "--conformance-backend=native")

    assert (result.ret, report(pytester)[-1]["exit_code"]) == (0, 0)
    said = "conformance: report.html was not made, and the verdict stands without it: no space left"
    assert said in result.errlines


def test_a_failure_of_the_harness_is_an_error_and_no_verdict_on_the_kernel(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import conformance.trial, conformance.suite.conftest
        def broken(*args, **kwargs):
            raise ZeroDivisionError("inside the judge")
        conformance.trial.judge = broken
        """
    )
    result = run(pytester, f"--conformance-case={SMALL}", "--conformance-backend=native")

    (line,) = [line for line in report(pytester) if line["kind"] == "case"]
    assert (line["verdict"], "inside the judge" in str(line["detail"])) == ("error", True)
    assert line["check"] == "tagged-integers"
    result.stdout.re_match_lines([r"cpu · native", r" +tagged-integers +1"])
    assert result.parseoutcomes()["errors"] == 1
    assert report(pytester)[-1]["exit_code"] == 3


@pytest.mark.parametrize(("marker", "count"), [("cpu and numerics", 1), ("cpu and contract", 2), ("sm90", 0)])
def test_markers_select_by_path_and_check(pytester: pytest.Pytester, marker: str, count: int) -> None:
    result = run(pytester, f"--conformance-case={SMALL}", "-m", marker, "--collect-only", "-q")

    assert sum("test_product[" in line for line in result.outlines) == count


def test_a_session_that_is_cut_short_accounts_for_every_case(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import conformance.execute as suite
        calls = []
        original = suite.run_known
        def interrupted(*args, **kwargs):
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return original(*args, **kwargs)
        suite.run_known = interrupted
        """
    )
    run(pytester, f"--conformance-case={SMALL}")

    *_, footer = lines = report(pytester)
    verdicts = [line["verdict"] for line in lines if line["kind"] == "case"]
    assert sorted(map(str, verdicts)) == ["not-run", "not-run", "rejected"]
    assert (footer["complete"], footer["exit_code"]) == (False, 4)


def test_a_wrong_option_is_a_usage_error(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--conformance-backend=torch-v9")

    result.stderr.fnmatch_lines(["*unknown backend 'torch-v9': did you mean 'torch-v2'?*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_other_tests_are_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_torch_is_not_imported(): import sys; assert 'torch' not in sys.modules")
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "conformance.plugin")

    result.assert_outcomes(passed=1)
    assert "conformance" not in [line.strip("= ") for line in result.outlines]


def test_a_project_with_packages_of_our_names_keeps_them(pytester: pytest.Pytester) -> None:
    pytester.mkpydir("cases")
    pytester.makeconftest("import cases")
    pytester.makepyfile("def test_own(): import cases; assert 'site-packages' not in cases.__file__")

    own = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "conformance.plugin")
    suite = pytester.runpytest_subprocess("--pyargs", "conformance", "-p", "no:cacheprovider")

    own.assert_outcomes(passed=1)
    suite.stderr.fnmatch_lines(["ERROR: another package named 'cases' was imported first*"])
    assert suite.ret == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in suite.stderr.str() + suite.stdout.str()


def test_required_hardware_that_is_missing_fails_a_green_session(pytester: pytest.Pytester) -> None:
    result = run(pytester, f"--conformance-case={SMALL}", "--conformance-backend=native", "--conformance-require=sm90")

    assert result.ret == 4
    assert report(pytester)[-1]["exit_code"] == 4
