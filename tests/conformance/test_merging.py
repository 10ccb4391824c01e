"""Shards put together: the report of the whole run where all are there, and an honest one where not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from made_reports import Command, about, line, write

from cases import Case, parse_case
from conformance.records import Line, digest, plan_of, read_report
from conformance.shards.merge import Merged, merge

CASES = tuple(
    parse_case(f"gemm/1x128-128x128/{shape}/{out}/{family}/s0")
    for shape in ("m5-n144-k400", "m3-n16-k128", "m7-n32-k256")
    for family in ("tagged-integers", "uniform-codes")
    for out in ("bf16", "fp32")
)


def run(pytester: pytest.Pytester, name: str, *arguments: str) -> tuple[Line, list[Line], Line | None]:
    asked = ("--conformance-device=cpu", "--conformance-backend=emulated-sm90", f"--conformance-report={name}")
    pytester.runpytest_inprocess("--pyargs", "conformance.suite", "-p", "no:cacheprovider", *asked, *arguments)
    return read_report(pytester.path / name)


def test_the_shards_of_a_run_give_the_run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    def small(profile: str) -> tuple[Case, ...]:
        return CASES

    monkeypatch.setattr("conformance.request.plan", small)
    header, lines, footer = run(pytester, "whole", "--conformance-profile=quick")
    parts = [run(pytester, f"s{i}", "--conformance-profile=quick", f"--conformance-shard={i}/3") for i in (1, 2, 3)]

    code, out, err = command("merge", "s3", "s1", "s2", "--report", "merged")
    merged = read_report(Path("merged"))

    assert footer is not None
    took = merged[2].pop("seconds") if merged[2] else {}
    shards = [part[2]["seconds"] for part in parts if part[2]]
    assert took == {phase: pytest.approx(sum(each[phase] for each in shards)) for phase in footer.pop("seconds")}
    assert merged[2] == footer == {**footer, "complete": True, "exit_code": 0, "digest": digest(lines)}
    assert [len(part[1]) for part in parts] == [4, 4, 4]
    assert {**merged[0], "command": []} == {**header, "command": []}
    assert (code, err, Path("merged/junit.xml").exists()) == (0, "", True)
    assert out.splitlines()[-2] == f"CONFORMS: {len(CASES)} passed"


A, B, C = (line("passed", name, input_digest=name) for name in "abc")
KEYS = [("b", "gemm/a"), ("b", "gemm/b"), ("b", "gemm/c")]


def shard(folder: Path, index: int, *lines: Line, code: int | None = 0, **more: Any) -> Path:
    """The report of shard ``index`` of 3, of a plan of three cases."""
    header = about(*KEYS, **{"shard": f"{index}/3", **more})
    return write(folder / f"s{index}", header, *lines, code=code, complete=False)


def merged(folder: Path, *paths: Path) -> tuple[Merged, Line]:
    found = merge(paths, folder / "merged")
    return found, found.footer


def test_all_shards_and_an_empty_one_are_complete(tmp_path: Path) -> None:
    found, footer = merged(tmp_path, shard(tmp_path, 1, A, B), shard(tmp_path, 2), shard(tmp_path, 3, C))

    assert (footer["complete"], footer["exit_code"], footer["conclusion"]) == (True, 0, "CONFORMS: 3 passed")
    assert (found.lines, "shard" in found.header) == ((A, B, C), False)


def test_a_missing_shard_is_named_and_never_green(tmp_path: Path, command: Command) -> None:
    one = shard(tmp_path, 1, A, B)
    found, footer = merged(tmp_path, one)

    assert (footer["complete"], footer["exit_code"]) == (False, 4)
    assert footer["conclusion"] == "INCONCLUSIVE: shards 2/3, 3/3 are missing"
    assert found.header["shard"] == "1/3"
    code, out, _ = command("merge", one, shard(tmp_path, 3, C), "--report", tmp_path / "m")
    assert (code, "INCONCLUSIVE: shard 2/3 is missing" in out) == (4, True)
    assert read_report(tmp_path / "m")[0]["shard"] == "1+3/3"
    code, out, _ = command("diff", write(tmp_path / "old", about(*KEYS), A, B, C), tmp_path / "m")
    assert (code, "INCOMPLETE: NEW is incomplete: shard 2/3 is missing" in out) == (4, True)


def test_a_failure_stays_one_beside_a_missing_shard(tmp_path: Path) -> None:
    _, footer = merged(tmp_path, shard(tmp_path, 1, A, line("failed", "b", reason="raised"), code=1))

    assert footer["exit_code"] == 1
    assert footer["conclusion"] == "WRONG: 1 of 2 cases failed; shards 2/3, 3/3 are missing"


def test_a_killed_shard_is_named_until_it_is_run_again(tmp_path: Path) -> None:
    parts = [shard(tmp_path, 1, A), shard(tmp_path, 2, code=None), shard(tmp_path, 3, C)]
    _, footer = merged(tmp_path, *parts)
    again = shard(tmp_path / "again", 2, B)

    assert (footer["complete"], footer["exit_code"]) == (False, 4)
    assert footer["conclusion"].startswith(f"INCONCLUSIVE: shard 2/3 ({parts[1]}) is incomplete")
    assert merged(tmp_path, *parts, again)[1]["complete"] is True


def test_a_case_that_was_not_run_may_be_run_by_another(tmp_path: Path) -> None:
    cut = shard(tmp_path, 2, line("not-run", "b", input_digest=""), code=4)
    others = [shard(tmp_path, 1, A), shard(tmp_path, 3, C)]

    _, footer = merged(tmp_path, *others, cut)
    assert (footer["complete"], footer["conclusion"]) == (
        False,
        "INCONCLUSIVE: cut short, 1 of 3 planned cases were not run",
    )
    for order in ([cut, shard(tmp_path / "again", 2, B)], [shard(tmp_path / "again", 2, B), cut]):
        assert merged(tmp_path, *others, *order)[1]["complete"] is True


def test_what_is_judged_twice_must_agree(tmp_path: Path, command: Command) -> None:
    parts = [shard(tmp_path, 1, A, B), shard(tmp_path, 2, B), shard(tmp_path, 3, C)]
    found, footer = merged(tmp_path, *parts)

    assert footer["complete"] is True
    assert found.notes == (f"1 case was judged by {parts[0]} and by {parts[1]}, alike",)
    for change in ({"verdict": "failed"}, {"output_digest": "p"}, {"input_digest": "q"}):
        shard(tmp_path, 2, {**B, **change})
        code, out, err = command("merge", *parts, "--report", tmp_path / "m")
        assert (code, out, len(err.splitlines())) == (2, "", 1)
        assert re.search(r"s1' and .*s2' both judge gemm/b on b, and disagree", err)
    loose = {**B, "deterministic": False}
    shard(tmp_path, 1, A, loose)
    shard(tmp_path, 2, {**loose, "output_digest": "p"})
    assert merged(tmp_path, *parts)[1]["complete"] is True


DIFFERENT = {
    "suite": "1",
    "torch": "2.14.1",
    "path": "sm90",
    "arch": "aarch64",
    "runtime": "13.0",
    "profile": "standard",
    "seed": 1,
    "backends": {"b": {"cublas": "13.2"}},
    "require": ["sm90"],
    "owing": ["d"],
    "plan": {"cases": 3, "digest": "0"},
    "shard": "2/4",
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_shards_of_different_runs_are_refused(name: str, tmp_path: Path, command: Command) -> None:
    one, other = shard(tmp_path, 1, A), shard(tmp_path, 2, B, **{name: DIFFERENT[name]})

    code, out, err = command("merge", one, other, "--report", tmp_path / "m")

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    said = {"backends": "b cublas", "shard": "the number of shards"}.get(name, name)
    assert f"'{one}' and '{other}' are no shards of one run: {said} is " in err
    assert not (tmp_path / "m").exists()


def test_machines_may_differ_and_are_all_named(tmp_path: Path) -> None:
    parts = [shard(tmp_path, i, x, device_name=f"H{i}", driver="5") for i, x in ((1, A), (2, B), (3, C))]
    found, footer = merged(tmp_path, *parts)

    assert footer["complete"] is True
    assert (found.header["device_name"], found.header["driver"]) == ("H1 / H2 / H3", "5")


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ({"shard": "1+2/3"}, "is of no shard"),
        ({"shard": "all"}, "is of no shard"),
        ({"plan": {}}, "does not say of which plan"),
        ({"plan": {"cases": 3}}, "does not say of which plan"),
    ],
)
def test_what_is_no_shard_is_one_sentence(header: dict[str, Any], says: str, tmp_path: Path, command: Command) -> None:
    code, out, err = command("merge", shard(tmp_path, 1, A, **header), "--report", tmp_path / "m")

    assert (code, out, len(err.splitlines()), says in err) == (2, "", 1, True)
    unsharded = write(tmp_path / "whole", about(*KEYS), A, B, C)
    assert "is of no shard" in command("merge", unsharded, "--report", tmp_path / "m")[2]


def test_a_shard_is_not_overwritten(tmp_path: Path, command: Command) -> None:
    one = shard(tmp_path, 1, A)
    for path in (one, one / "report.jsonl"):
        code, _, err = command("merge", path, "--report", one)

        assert (code, "holds one of the shards" in err, read_report(one)[1]) == (2, True, [A])


def test_what_the_whole_run_owes_is_asked_of_the_whole(tmp_path: Path) -> None:
    known = line("known-deviation", "c", reason="raised", deviation="d")
    parts = [shard(tmp_path, 1, A, owing=["d"]), shard(tmp_path, 2, B, owing=["d"])]

    unseen = merged(tmp_path, *parts, shard(tmp_path, 3, C, owing=["d"]))[1]
    assert (unseen["exit_code"], "deviation d matches no case" in unseen["conclusion"]) == (1, True)
    assert merged(tmp_path, *parts)[1]["exit_code"] == 4
    assert merged(tmp_path, *parts, shard(tmp_path, 3, known, owing=["d"]))[1]["exit_code"] == 0


@pytest.mark.parametrize(("last", "code"), [({}, 4), ({"path": "sm90"}, 0)])
def test_what_is_required_must_be_in_some_shard(last: dict[str, str], code: int, tmp_path: Path) -> None:
    parts = [shard(tmp_path, i, x, require=["sm90"]) for i, x in ((1, A), (2, B), (3, {**C, **last}))]

    assert merged(tmp_path, *parts)[1]["exit_code"] == code


def test_a_run_that_computed_nothing_is_found_out(tmp_path: Path) -> None:
    refused = [{**x, "verdict": "rejected", "computed": False} for x in (A, B, C)]
    _, footer = merged(tmp_path, *(shard(tmp_path, i, x) for i, x in enumerate(refused, 1)))

    assert (footer["exit_code"], "no product was computed" in footer["conclusion"]) == (4, True)


def test_a_selection_stays_one(tmp_path: Path) -> None:
    parts = [shard(tmp_path, 1, A, selected=True), shard(tmp_path, 2), shard(tmp_path, 3, selected=True)]
    _, footer = merged(tmp_path, *parts)

    assert (footer["complete"], footer["exit_code"]) == (False, 0)
    assert footer["conclusion"] == "CONFORMS (selection of 1 case: not the whole profile): 1 passed"
    nothing = merged(tmp_path, *(shard(tmp_path, i, selected=True) for i in (1, 2, 3)))[1]
    assert (nothing["exit_code"], "no case was selected" in nothing["conclusion"]) == (4, True)


def test_lines_that_are_not_the_plan_are_no_complete_run(tmp_path: Path) -> None:
    _, footer = merged(tmp_path, shard(tmp_path, 1, A), shard(tmp_path, 2, B), shard(tmp_path, 3))

    assert (footer["complete"], footer["exit_code"]) == (False, 4)
    assert "2 cases, and they are not the 3 that were planned" in footer["conclusion"]


def test_the_command_in_the_header_is_that_of_the_whole(tmp_path: Path) -> None:
    for typed in (["--shard", "1/3"], ["--shard=1/3"], ["--conformance-shard=1/3"]):
        one = shard(tmp_path, 1, A, command=["conformance", "run", *typed, "--device", "cpu"])

        assert merged(tmp_path, one)[0].header["command"] == ["conformance", "run", "--device", "cpu"]


def test_a_plan_is_named_whatever_its_order() -> None:
    assert plan_of(KEYS) == plan_of(KEYS[::-1])
    assert plan_of(KEYS)["cases"] == 3
    assert len({plan_of(KEYS)["digest"], plan_of(KEYS[1:])["digest"], plan_of([("c", KEYS[0][1])])["digest"]}) == 3
