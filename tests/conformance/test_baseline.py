"""A baseline forgives nothing: it only adds what became worse, and says where it proves nothing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from made_reports import Command, about, line, write

from conformance.baseline import Baseline
from conformance.conclude import Conclusion, worst
from conformance.diff.result import Diff
from conformance.diff.sides import Side
from conformance.records import BadReportError, Line, footer, read_report

SMALL = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
A, B = line("passed", "a"), line("passed", "b")


def compared(
    folder: Path,
    old: list[Line],
    new: list[Line],
    *,
    complete: bool = True,
    whole: bool = True,
    code: int | None = 0,
    **of_new: Any,
) -> Diff | None:
    """``new`` against the baseline ``old``; ``whole`` and ``complete`` say whether each answers for its profile."""
    kept = Baseline.read(write(folder, about(), *old, code=code, complete=whole))
    ending = footer(new, complete=complete, conclusion=Conclusion(0, ""))
    return kept.compared(Side(about(**of_new), {(x["backend"], x["id"]): x for x in new}, ending))


def found(*arguments: Any, **more: Any) -> Diff:
    against = compared(*arguments, **more)
    assert against is not None
    return against


def test_what_became_worse_fails_and_what_became_better_does_not(tmp_path: Path) -> None:
    failed = line("failed", "b", reason="raised")

    for old, new, counts, code in (
        ([A, B], [A, failed], {"regressed": 1}, 1),
        ([A, B], [A], {"removed": 1}, 1),
        ([A, failed], [A, B], {"fixed": 1}, 0),
        ([A], [A, B], {"new": 1}, 0),
    ):
        against = found(tmp_path, old, new)
        assert (against.counts, against.code) == (counts, code)


def test_only_what_was_selected_is_compared(tmp_path: Path) -> None:
    some = found(tmp_path, [A, B], [A], complete=False)

    assert (some.counts, some.compared, some.code) == ({}, 1, 0)
    assert compared(tmp_path, [A, B], [], complete=False) is None


def test_what_was_cut_short_is_the_runs_own_to_say(tmp_path: Path) -> None:
    cut = found(tmp_path, [A, B], [A, line("not-run", "b")], complete=False)

    assert (cut.counts, cut.code) == ({}, 0)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"path": "sm90"}, "the baseline is for path cpu, and this is path sm90"),
        ({"arch": "aarch64"}, "the baseline is for arch x86_64, and this is arch aarch64"),
        ({"profile": "full"}, "the baseline is for profile quick, and this is profile full"),
        ({"seed": 7}, "OLD has seed 0 and NEW has seed 7"),
        ({"code": None}, "OLD is incomplete"),
    ],
)
def test_what_cannot_be_compared_proves_nothing(more: dict[str, Any], says: str, tmp_path: Path) -> None:
    against = found(tmp_path, [A], [A], **more)

    assert (against.code, says in against.sentence) == (4, True)


def test_a_baseline_must_have_been_run(tmp_path: Path) -> None:
    cut = found(tmp_path, [A, line("not-run", "b")], [A, B], whole=False)
    assert (cut.code, "1 of its 2 cases were not run" in cut.sentence) == (4, True)

    part = found(tmp_path, [A], [A, B], whole=False)
    assert (part.code, "a selection that lacks 1 of these 2 cases" in part.sentence) == (4, True)
    # As of a model of one's own: it is never the whole of a profile.
    assert found(tmp_path, [A, B], [A], whole=False, complete=False).code == 0


def test_versions_may_differ_and_are_shown(tmp_path: Path) -> None:
    against = found(tmp_path, [A], [A], torch="2.14.1", driver="580")

    assert (against.code, against.runs) == (0, (("torch", "2.13.0", "2.14.1"), ("driver", "none", "580")))


@pytest.mark.parametrize(
    ("codes", "expected"), [((0, 0), 0), ((1, 0), 1), ((0, 1), 1), ((0, 4), 4), ((1, 4), 1), ((4, 1), 1), ((3, 4), 3)]
)
def test_the_exit_code_is_the_worst_of_both(codes: tuple[int, int], expected: int) -> None:
    assert worst(*codes) == expected


def judge(command: Command, folder: Path, *more: object, backend: str = "native") -> tuple[int, str, str]:
    asked = ("--backend", backend, "--device", "cpu", "--case", SMALL, "--report", folder)
    return command("run", "-n", 0, *asked, *more)


def renamed(folder: Path, name: str, **header: Any) -> Path:
    """The report in ``folder`` as one of a backend called ``name``."""
    path = folder / "report.jsonl"
    first, *rest = path.read_text().replace('"native"', json.dumps(name)).splitlines()
    *cases, _ = [json.loads(text) for text in rest]
    return write(folder / name, {**json.loads(first), **header}, *cases, complete=False)


def test_a_run_is_compared_and_its_own_verdict_stands(tmp_path: Path, command: Command) -> None:
    judge(command, tmp_path)
    good = renamed(tmp_path, "next-scale")

    code, out, _ = judge(command, tmp_path / "new", "--baseline", good, backend="kernels:NextScale")
    _, _, ending = read_report(tmp_path / "new")
    assert (code, out.splitlines()[-1].split(" (")[0]) == (1, "REGRESSED: 1 regressed")
    assert f"against the baseline {good}" in " ".join(out.split("\n"))
    assert ending is not None
    assert (ending["exit_code"], ending["baseline"]["exit_code"]) == (1, 1)
    assert ending["baseline"]["conclusion"] == out.splitlines()[-1]

    assert judge(command, tmp_path / "again", "--baseline", tmp_path)[0] == 0
    elsewhere = renamed(tmp_path, "native", path="sm90")
    code, out, _ = judge(command, tmp_path / "again", "--baseline", elsewhere)
    assert (code, "INCOMPARABLE: the baseline is for path sm90, and this is path cpu" in out) == (4, True)
    assert read_report(tmp_path / "again")[2] == {**(read_report(tmp_path / "again")[2] or {}), "exit_code": 0}


def test_a_failure_that_was_expected_is_still_one(tmp_path: Path, command: Command) -> None:
    judge(command, tmp_path, backend="kernels:NextScale")

    code, out, _ = judge(command, tmp_path / "new", "--baseline", tmp_path, backend="kernels:NextScale")
    assert (code, "NO REGRESSION: 1 still wrong" in out) == (1, True)


def test_a_baseline_is_not_overwritten(tmp_path: Path, command: Command) -> None:
    judge(command, tmp_path)
    kept = read_report(tmp_path)

    for path in (tmp_path, tmp_path / "report.jsonl"):
        code, out, err = judge(command, tmp_path, "--baseline", path)
        assert (code, out, len(err.splitlines()), "keep it elsewhere" in err) == (2, "", 1, True)
    assert read_report(tmp_path) == kept


@pytest.mark.parametrize("text", ["", "{", '{"kind": "case"}\n'])
def test_a_bad_baseline_is_found_before_anything_runs(text: str, tmp_path: Path, command: Command) -> None:
    bad = tmp_path / "kept.jsonl"
    bad.write_text(text)

    code, out, err = judge(command, tmp_path / "new", "--baseline", bad)
    assert (code, out, len(err.splitlines()), str(bad) in err) == (2, "", 1, True)
    assert not (tmp_path / "new").exists()


def test_the_session_under_pytest_is_compared_too(pytester: pytest.Pytester, command: Command) -> None:
    judge(command, Path("old"))
    lost = renamed(Path("old"), "unsupported")
    asked = (f"--conformance-case={SMALL}", "--conformance-device=cpu", "-p", "no:cacheprovider")

    def session(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_inprocess("--pyargs", "conformance.suite", *asked, *arguments)

    assert session("--conformance-backend=kernels:Reversed", f"--conformance-baseline={lost}").ret == 4
    same = session("--conformance-backend=native", "--conformance-baseline=old")
    assert same.ret == 0
    same.stdout.fnmatch_lines(["*conformance against the baseline*", "NO REGRESSION: nothing changed*"])
    assert session("--conformance-baseline=nowhere").ret == pytest.ExitCode.USAGE_ERROR


def test_a_baseline_may_be_kept_compressed(tmp_path: Path) -> None:
    plain = write(tmp_path, about(), A, B) / "report.jsonl"
    packed = tmp_path / "kept.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))

    assert read_report(packed) == read_report(plain)
    for damage in (packed.read_bytes()[:-9], b"no gzip", packed.read_bytes()[:15] + b"\xff" * 9):
        packed.write_bytes(damage)
        with pytest.raises(BadReportError, match=r"kept\.jsonl\.gz' is damaged"):
            read_report(packed)
