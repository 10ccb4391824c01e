"""The wheel in somebody's project, which has a conftest, a plugin, rules for tests and packages of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from installed import Installation

SMALL = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
OTHER = "gemm/1x128-128x128/m3-n16-k128/fp32/uniform-codes/s0"
NODE = "suite/test_products.py::test_product[native/{}]"
PROJECT = {
    "pytest.ini": """
[pytest]
python_files = check_*.py
python_functions = check_*
testpaths = cases
norecursedirs = *
pythonpath = .
addopts = --strict-markers --strict-config --doctest-modules --import-mode=prepend -p order
filterwarnings = error
xfail_strict = true
""",
    "conftest.py": """
import pytest

collect_ignore_glob = ["*/suite/*"]

@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
""",
    "order.py": "def pytest_collection_modifyitems(items): items.reverse()",
    "cases/__init__.py": "OURS = False",
    "cases/check_own.py": "import cases\n\n\ndef check_own(): assert not cases.OURS",
    "reference/__init__.py": "raise AssertionError('imported in place of the suite\\'s')",
    "reference.py": "raise AssertionError('imported in place of the suite\\'s')",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def judged(report: Path) -> list[tuple[str, str]]:
    lines = [json.loads(text) for text in (report / "report.jsonl").read_text().splitlines()]
    return [(line["id"], line["verdict"]) for line in lines if line["kind"] == "case"]


def suite(*more: str) -> tuple[str, ...]:
    chosen = [f"--conformance-case={case}" for case in (SMALL, OTHER)]
    return "--pyargs", "conformance", "--conformance-backend=native", "--conformance-device=cpu", *chosen, *more


@pytest.mark.parametrize("python", [(), ("python", "-m")], ids=["script", "module"])
def test_pytest_judges_in_any_project(python: tuple[str, ...], installation: Installation, project: Path) -> None:
    done = installation.run(*python, "pytest", *suite("--conformance-report=out"), cwd=project)

    assert done.returncode == 0, done.stdout + done.stderr
    assert judged(project / "out") == [(OTHER, "passed"), (SMALL, "passed")]


def test_editors_collect_ids_that_they_can_run(installation: Installation, project: Path) -> None:
    collected = installation.run("pytest", *suite("--collect-only", "-q"), cwd=project).stdout.splitlines()
    done = installation.run("pytest", collected[0], *suite("--conformance-report=out")[2:], cwd=project)

    assert collected[:2] == [NODE.format(OTHER), NODE.format(SMALL)]
    assert done.returncode == 0, done.stdout + done.stderr
    assert judged(project / "out") == [(OTHER, "passed")]


def test_workers_of_pytest_judge_in_any_project(installation: Installation, project: Path) -> None:
    done = installation.run("python", "-m", "pytest", *suite("-n", "2", "--conformance-report=out"), cwd=project)

    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(judged(project / "out")) == [(OTHER, "passed"), (SMALL, "passed")]


def test_the_command_judges_in_any_project(installation: Installation, project: Path) -> None:
    cases = ["--case", SMALL, "--case", OTHER]
    done = installation.run("conformance", "run", "--backend", "native", "--device", "cpu", *cases, cwd=project)

    assert done.returncode == 0, done.stdout + done.stderr
    assert judged(project / "conformance-report") == [(SMALL, "passed"), (OTHER, "passed")]


def test_a_project_keeps_its_own_tests_and_packages(installation: Installation, project: Path) -> None:
    done = installation.run("pytest", cwd=project)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_processes_of_a_pool_have_the_suites_packages(installation: Installation, project: Path) -> None:
    text = """
import sys
from conformance.siblings import claim_siblings
from conformance.workers import pool_of

if __name__ == "__main__":
    claim_siblings()
    from cases import parse_case

    sys.path.insert(0, ".")
    with pool_of(2) as pool:
        print(pool.submit(parse_case, sys.argv[1]).result().id)
"""
    (project / "pool.py").write_text(text)
    done = installation.run("python", "pool.py", SMALL, cwd=project)

    assert (done.returncode, done.stdout) == (0, f"{SMALL}\n"), done.stderr
