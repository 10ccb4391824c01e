"""How the suite is found and named in pytest sessions of all kinds: by IDEs, by caches, beside plugins."""

from __future__ import annotations

import json

import pytest

from conformance.collecting import MODULE, SHOWN
from conformance.items import key_of

SMALL = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
OTHER = "gemm/1x128-128x128/m3-n16-k128/fp32/uniform-codes/s0"
NODES = [f"{SHOWN}::test_product[native/{case}]" for case in (SMALL, OTHER)]


def run(pytester: pytest.Pytester, *arguments: str, backend: str = "native") -> pytest.RunResult:
    chosen = [f"--conformance-case={case}" for case in (SMALL, OTHER)]
    # Without hypothesis' own plugin, which the outer session has begun already.
    common = [
        "--pyargs",
        "-p",
        "no:hypothesispytest",
        f"--conformance-backend={backend}",
        "--conformance-device=cpu",
        *chosen,
    ]
    return pytester.runpytest_inprocess(*common, *arguments)


def judged(pytester: pytest.Pytester) -> dict[str, str]:
    text = (pytester.path / "out" / "report.jsonl").read_text()
    lines = [json.loads(each) for each in text.splitlines()]
    return {line["id"]: line["verdict"] for line in lines if line["kind"] == "case"}


def test_editors_collect_ids_that_they_can_run(pytester: pytest.Pytester) -> None:
    collected = run(pytester, "conformance", "--collect-only", "-q").outlines[:2]
    done = run(pytester, collected[1], "--conformance-report=out")

    assert collected == NODES
    assert (done.ret, judged(pytester)) == (0, {OTHER: "passed"})


@pytest.mark.parametrize(
    "place",
    [
        str(MODULE),
        f"{MODULE}::test_product",
        f"{MODULE}::test_product[native/{SMALL}]",
        str(MODULE.parent),
        SHOWN,
        "conformance",
        "conformance.suite",
        "conformance.suite.test_products",
        f"conformance.suite.test_products::test_product[native/{SMALL}]",
    ],
)
def test_one_name_of_a_case_wherever_it_is_asked_for(place: str, pytester: pytest.Pytester) -> None:
    collected = run(pytester, place, "--rootdir=.", "--collect-only", "-q").outlines

    assert [line for line in collected if "::" in line] == (NODES[:1] if SMALL in place else NODES)


@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_rules_for_the_tests_of_a_project_are_for_those(mode: str, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\npython_files = check_*.py\npython_functions = check\naddopts = --doctest-modules\n")
    pytester.makepyfile(check_own="def check(): pass\n\n\ndef test_no_test(): raise AssertionError")
    collected = run(pytester, "conformance", ".", f"--import-mode={mode}", "--collect-only", "-q").outlines

    assert [line for line in collected if "::" in line] == [*NODES, "check_own.py::check"]


def test_what_failed_is_run_again_by_lf(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(wrong="def wrong(A, B, As, Bs, out_dtype): raise ValueError")
    both = ("conformance", "--conformance-backend=native")
    first = run(pytester, *both, backend="wrong.py")
    again = run(pytester, *both, "--lf", "--conformance-report=out", backend="wrong.py")

    assert first.parseoutcomes() == {"passed": 2, "failed": 2}
    assert again.parseoutcomes() == {"failed": 2, "deselected": 2}
    assert json.loads((pytester.path / "out" / "report.jsonl").read_text().splitlines()[-1])["complete"] is False


def test_collecting_leaves_an_earlier_report_alone(pytester: pytest.Pytester) -> None:
    run(pytester, "conformance", "--conformance-report=out")
    run(pytester, "conformance", "--conformance-report=out", "--collect-only")

    assert judged(pytester) == {SMALL: "passed", OTHER: "passed"}


@pytest.mark.parametrize("more", ["", "-1-3", "-2"])
def test_a_case_that_a_plugin_repeats_is_one(more: str) -> None:
    assert key_of(f"{NODES[0][:-1]}{more}]") == ("native", SMALL)


def test_a_case_that_a_plugin_repeats_is_judged_once(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        repeating="""
        import pytest

        def pytest_generate_tests(metafunc):
            metafunc.fixturenames.append("repeated")
            metafunc.parametrize("repeated", range(2), ids=["1-2", "2-2"], indirect=True)

        @pytest.fixture
        def repeated(request): return request.param
        """
    )
    pytester.syspathinsert()
    done = run(pytester, "conformance", "-p", "repeating", "--conformance-report=out")

    assert done.parseoutcomes() == {"passed": 4}
    assert judged(pytester) == {SMALL: "passed", OTHER: "passed"}


def test_a_test_that_ours_would_hide_is_one_sentence(pytester: pytest.Pytester) -> None:
    pytester.mkpydir("cases").joinpath("test_own.py").write_text("def test_own(): pass")
    done = run(pytester, "conformance", ".")

    says = "test_own.py is in a package named 'cases', as one of the suite's is: run the suite in a session of its own"
    assert says in done.outlines
    assert (done.ret, "Traceback" in done.stdout.str()) == (pytest.ExitCode.INTERRUPTED, False)
