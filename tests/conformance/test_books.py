"""Conclusions, digests, reports and presentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from cases import parse_case
from cases.operands import build_operands
from conformance.bands import GUARD
from conformance.conclude import Conclusion, conclude, conclusion_of
from conformance.presentation import present
from conformance.probe import PATHS
from conformance.records import BadReportError, ReportWriter, digest, footer, header, read_report

HEADER = {"suite": "0", "torch": "2", "path": "cpu", "backends": {}, "profile": "quick", "seed": 0}


def line(verdict: str, **more: Any) -> dict[str, Any]:
    base = {"kind": "case", "id": "gemm/x", "backend": "b", "verdict": verdict, "path": "cpu", "computed": True}
    base |= {"seconds": 0.0, "input_digest": "", "output_digest": ""}
    return {**base, "reason": "", "expected": "compute", "check": "f", **more}


@pytest.mark.parametrize(
    ("lines", "require", "code"),
    [
        ([line("passed")], (), 0),
        ([line("passed"), line("failed")], (), 1),
        ([line("passed"), line("stale-deviation")], (), 1),
        ([line("passed"), line("error")], (), 3),
        ([line("failed"), line("error")], (), 1),
        ([line("passed"), line("not-run")], (), 4),
        ([line("failed"), line("not-run")], (), 1),
        ([], (), 4),
        ([line("rejected", computed=False)], (), 4),
        ([line("unsupported", computed=False)], (), 4),
        ([line("rejected", computed=False)], ("cpu",), 0),
        ([line("unsupported", computed=False)], ("cpu",), 4),
        ([line("passed")], ("sm90",), 4),
        ([line("passed", path="sm90", model=True)], ("sm90",), 4),
        ([line("passed", path="sm90")], ("sm90",), 0),
    ],
)
def test_only_an_answered_question_is_green(lines: list[dict[str, Any]], require: tuple[str, ...], code: int) -> None:
    assert conclude(lines, require=require).code == code


@pytest.mark.parametrize("path", PATHS)
def test_a_required_path_that_was_not_exercised_is_named_with_what_it_takes(path: str) -> None:
    elsewhere = "cpu" if path != "cpu" else "sm90"

    found = conclude([line("passed", path=elsewhere)], require=[elsewhere, path])

    assert found == Conclusion(4, f"INCONCLUSIVE: required but not exercised here: {path} (needs {PATHS[path].needs})")


def test_a_selection_never_claims_the_whole_profile() -> None:
    part = "selection of 1 case"

    assert conclude([line("passed")], part=part).sentence == f"CONFORMS ({part}: not the whole profile): 1 passed"
    assert conclude([line("passed")]).sentence == "CONFORMS: 1 passed"


def test_a_harness_that_broke_is_never_green_and_hides_no_failure() -> None:
    assert conclude([line("passed")], broke="the harness failed") == Conclusion(3, "BROKEN: the harness failed")
    assert conclude([line("failed")], broke="the harness failed").code == 1


@pytest.mark.parametrize(
    ("lines", "planned", "code", "sentence"),
    [
        ([], {}, 4, "INCONCLUSIVE: {} 0 of an unknown number of planned cases"),
        ([line("passed")], {"cases": 9}, 4, "INCONCLUSIVE: {} 1 of 9 planned cases"),
        ([line("passed"), line("not-run")], {"cases": 2}, 4, "INCONCLUSIVE: {} 1 of 2 planned cases"),
        ([line("failed")], {"cases": 9}, 1, "WRONG so far: 1 of 1 cases failed; {} 1 of 9 planned cases"),
    ],
)
def test_a_report_without_a_footer_says_how_far_it_came(
    lines: list[dict[str, Any]], planned: dict[str, int], code: int, sentence: str
) -> None:
    said = sentence.format("the report is incomplete, its run was ended after")

    assert conclusion_of({**HEADER, "plan": planned}, lines, None) == Conclusion(code, said)


def test_digests_see_inputs_verdicts_and_output_bits_but_no_order_and_no_time() -> None:
    lines = [line("passed", id=f"gemm/{i}", output_digest=str(i), seconds=i) for i in range(3)]

    assert digest(lines[::-1]) == digest([{**x, "seconds": 9} for x in lines])
    for change in ({"verdict": "failed"}, {"input_digest": "x"}, {"output_digest": "x"}, {"id": "gemm/y"}):
        assert digest([{**lines[0], **change}, *lines[1:]]) != digest(lines)
    loose = [{**x, "deterministic": False} for x in lines]
    assert digest([{**loose[0], "output_digest": "x"}, *loose[1:]]) == digest(loose)


def test_a_report_reads_back_and_without_footer_says_so(tmp_path: Path) -> None:
    writer = ReportWriter(tmp_path)
    writer.write(header(HEADER))
    writer.write(line("passed"))
    unfinished = read_report(tmp_path)
    writer.write(footer([line("passed")], complete=True, conclusion=Conclusion(0, "CONFORMS")))
    writer.close()

    assert unfinished[2] is None
    assert [len(part or []) > 0 for part in read_report(tmp_path)] == [True, True, True]


@pytest.mark.parametrize("text", ["", "{", '{"kind": "case"}'])
def test_a_bad_report_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "report.jsonl").write_text(text)

    with pytest.raises(BadReportError, match=r"report\.jsonl"):
        read_report(tmp_path)


OPERANDS = build_operands(parse_case("gemm/1x128-128x128/m5-n400-k400/bf16/uniform-codes/s0"))


def test_presented_operands_have_the_upstream_layout_between_guards() -> None:
    presented = present(OPERANDS)
    a, b, sa, sb = presented.tensors

    assert (a.stride(), b.stride(), sa.stride(), sb.stride()) == ((400, 1), (400, 1), (1, 5), (4, 1))
    for shown, original in zip(presented.tensors, OPERANDS.tensors, strict=True):
        assert torch.equal(shown.contiguous().view(torch.uint8), original.view(torch.uint8))
    for band in presented.bands:
        assert band.payload.start == GUARD
        assert band.buffer.numel() - band.payload.stop >= max(GUARD, 16 * sb.shape[0])
    assert presented.damage() is None


def test_guards_are_the_same_in_every_run_and_finite() -> None:
    first, second = present(OPERANDS), present(OPERANDS)

    for one, two in zip(first.bands, second.bands, strict=True):
        assert torch.equal(one.buffer, two.buffer)
        assert torch.isfinite(one.buffer[:GUARD].view(one.view.dtype).float()).all()


@pytest.mark.parametrize("name", ["A", "B", "As", "Bs"])
def test_any_changed_byte_is_noticed_and_its_operand_named(name: str) -> None:
    for position, what in ((0, "around"), (GUARD, "of"), (-1, "around")):
        presented = present(OPERANDS)
        band = next(band for band in presented.bands if band.name == name)
        band.buffer[position] ^= 1
        assert presented.damage() == f"1 bytes {what} {name} were overwritten"
