"""Conclusions, digests, reports and presentation."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
import torch

from cases import parse_case
from cases.operands import build_operands
from conformance.bands import GUARD
from conformance.conclude import Conclusion, conclude
from conformance.presentation import present
from conformance.records import BadReportError, ReportWriter, digest, footer, header, read_report
from conformance.summary import print_summary

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


def test_the_summary_fits_80_columns_and_names_failures() -> None:
    from rich.console import Console

    out = io.StringIO()
    lines = [line("failed", reason="raised", detail="[red]no"), line("passed", backend="emulated-sm90")]
    about = {"path": "cpu", "torch": "2.13", "profile": "quick", "seed": 0, "arch": "x86_64", "backends": {}}
    print_summary(Console(file=out, width=80), about, lines, conclusion=conclude(lines).sentence)

    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert "failed raised: [red]no" in text
    assert "WRONG: 1 of 2 cases failed" in text


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
