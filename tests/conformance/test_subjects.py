"""Quantisers and linears in the same session, report and readers as kernels, which they leave as they are."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cases import parse_case
from cases.linears import FAMILIES as LINEAR_FAMILIES
from cases.linears import linears
from cases.quantising import FAMILIES as QUANT_FAMILIES
from cases.quantising import quantisations
from cases.quantising.options import OPTIONS
from conformance.causes import causes_of
from conformance.cli import main
from conformance.conclude import conclude
from conformance.errors import UsageError
from conformance.html.page import to_html
from conformance.html.shapes import rows_of
from conformance.items import check_of_id, key_of
from conformance.listing import planned
from conformance.records import read_report
from conformance.request import Request
from conformance.session import Session
from conformance.subjects.found import load_linears, load_quantisers

QUANTISE = "quantise/token-group128/m5-k384/bf16-e4m3fn/zeros/s0"
LARGER = QUANTISE.replace("m5-k384", "m83-k640")
BLOCK = "quantise/block128x128/n144-k400/bf16-e4m3fn/codes/s0"
LINEAR = "linear/1x128-128x128/m5-n144-k384/bf16/bias/tagged-rows/s0"
GEMM = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
SEVERAL = {"quantisers": ("reference-quantiser",), "linears": ("reference-linear",)}


def line(id_: str, verdict: str = "passed", backend: str = "q", **more: Any) -> dict[str, Any]:
    return {"kind": "case", "id": id_, "backend": backend, "verdict": verdict, "reason": "", "path": "cpu", **more}


PAGE = (Path(__file__).parents[2] / "docs" / "quantisers.md").read_text(encoding="utf-8")
Answered = Callable[..., tuple[int, str, str]]


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Answered:
    """The command line in this process: exit code, stdout and stderr."""

    def answer(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["conformance", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return (int(ended.value.code or 0), *capsys.readouterr())

    return answer


# Ids.


def test_every_planned_id_parses_to_its_case() -> None:
    for case in (*quantisations("full"), *linears("full")):
        assert parse_case(case.id) == case


@pytest.mark.parametrize("plan", [quantisations, linears])
def test_a_deeper_profile_tries_all_that_a_lesser_one_does(plan: Any) -> None:
    quick, standard, full = ({case.id for case in plan(profile)} for profile in ("quick", "standard", "full"))

    assert quick < standard < full
    assert plan("survey") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("quantise", "no case id; they look like quantise/token-group128/m83-k7168/bf16-e4m3fn/ties/s0"),
        ("linear/x", "no case id; they look like linear/1x128-128x128/m83-n576-k7168/bf16/bias/tagged-rows/s0"),
        (QUANTISE.replace("zeros", "zeroes"), "unknown value family; choose one of ties, near-ties, codes,"),
        (QUANTISE.replace("bf16", "bf8"), "unknown dtype of x; choose one of bf16, fp16, fp32"),
        (QUANTISE.replace("e4m3fn", "e4m3"), "unknown FP8 format"),
        (QUANTISE.replace("token-group128", "token-group0"), "unknown granularity; they look like token-group128"),
        (QUANTISE.replace("group128", "group128@ue8"), "unknown option 'ue8'; choose of column-major,"),
        (
            QUANTISE.replace("group128", "group128@column-major+tma-aligned"),
            "two options about the same, the layout",
        ),
        (
            QUANTISE.replace("group128", "group128@ue8m0+column-major"),
            "did you mean quantise/token-group128@column-maj",
        ),
        (QUANTISE.replace("/m5", "/n5"), "did you mean quantise/token-group128/m5-k384/"),
        (QUANTISE.replace("group128", "group128@x-3d"), "cannot be built: x-3d takes an even number of rows"),
        (QUANTISE.replace("k384", "k0"), "has nothing along K or N"),
        (QUANTISE.replace("bf16", "fp16").replace("zeros", "small"), "float16 has no numbers as small"),
        (BLOCK.replace("128x128", "128x128@column-major"), "scales by columns and an x of three dimensions are for"),
        (LINEAR.replace("/bias", "/biased"), "unknown kind of bias; choose one of bias, no-bias"),
        (LINEAR.replace("1x128-128x128", "rowwise"), "unknown recipe of a linear; choose one of 1x128-128x128"),
        (LINEAR.replace("128x128/", "128x128@ue8m0/"), "unknown option 'ue8m0'; choose of x-rows-padded,"),
        (LINEAR.replace("n144", "n0"), "has an empty weight"),
        (LINEAR.replace("m5", "m05"), "did you mean linear/1x128-128x128/m5-n144"),
        (LINEAR.replace("k384", "k262144"), "exceed 2^24"),
    ],
)
def test_what_is_no_id_is_answered_with_the_nearest(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        parse_case(text)


def test_items_and_checks_are_found_by_id() -> None:
    key = key_of(f"conformance/suite/test_products.py::test_product[mine/{QUANTISE}]")

    assert key == ("mine", QUANTISE)
    assert [check_of_id(text) for text in (QUANTISE, LINEAR)] == ["quantiser/zeros", "linear/tagged-rows"]


@pytest.mark.parametrize(("profile", "plans"), [(p, (quantisations, linears)) for p in ("quick", "standard", "full")])
def test_the_page_has_the_counts_of_the_plan(profile: str, plans: Any) -> None:
    counts = [f"{len(plan(profile)):,}" for plan in plans]

    assert f"| `{profile}` | {' | '.join(counts)} |" in PAGE


def test_the_page_has_every_family_and_every_option() -> None:
    first_cells = re.findall(r"^\| (`.*?`) \|", PAGE, re.MULTILINE)
    named = {name for cell in first_cells for name in re.findall("`(.*?)`", cell)}

    assert {*QUANT_FAMILIES, *LINEAR_FAMILIES, *OPTIONS} <= named


# What is asked for.


def test_without_quantisers_and_linears_the_plan_is_that_of_kernels() -> None:
    alone, beside = Request(("native",), profile="quick"), Request(("native",), profile="quick", **SEVERAL)  # type: ignore[arg-type]

    assert alone.chosen_cases() == beside.chosen_cases() == Request(profile="quick").chosen_cases()
    assert alone.chosen_quantisations() == alone.chosen_linears() == ()
    assert beside.chosen_quantisations() == quantisations("quick")
    assert "quantisers" not in planned(alone)["sections"]
    assert not any(case["section"] in ("quantisers", "linears") for case in planned(alone)["cases"])


def test_a_quantiser_alone_asks_for_no_kernel() -> None:
    session = Session.open(Request(profile="quick", **SEVERAL, device="cpu"))  # type: ignore[arg-type]

    assert session.backends == ()
    assert session.assignments == session.drawings == ()
    assert {task.case.section for task in session.tasks} == {"quantisers", "linears"}
    assert session.planned == {task.work.key for task in session.tasks}


def test_functions_get_no_cases_of_what_they_do_not_quantise() -> None:
    session = Session.open(Request(profile="quick", quantisers=("quantisers:of_blocks",), device="cpu"))

    assert {task.case.granularity.name for task in session.tasks} == {"block128x128"}


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (Request(cases=(QUANTISE,)), f"the case '{QUANTISE}' is for a quantiser: name one with --quantiser"),
        (Request(cases=(LINEAR,), quantisers=("reference-quantiser",)), "is for a linear: name one with --linear"),
        (Request(cases=(GEMM,), quantisers=("reference-quantiser",)), "is for a backend: name one with --backend"),
        (Request(quantisers=("reference-quantise",)), "did you mean 'reference-quantiser'"),
        (Request(linears=("no.such:thing",)), "module 'no.such' cannot be imported"),
        (Request(("native",), linears=("linears:plain",), quantisers=("quantisers:plain",)), "both named 'plain'"),
        (Request(quantisers=("quantisers:RIGHT",)), "is no function and has no method per_token_group_quant_fp8"),
    ],
)
def test_a_wrong_request_is_answered_with_what_to_write(request_: Request, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        Session.open(request_)


def test_names_are_found_without_a_name_attribute() -> None:
    names = [load_quantisers(("quantisers:plain",))[0].name, load_linears(("linears:plain",))[0].name]

    assert names == ["plain", "plain"]


def test_list_says_what_is_owed_to_a_quantiser() -> None:
    document = planned(Request(quantisers=("quantisers:plain",), profile="quick"), "zeros")
    owed = {case["id"]: case["expected"] for case in document["cases"]}

    assert owed[LARGER] == {"plain": "compute"}
    assert owed[LARGER.replace("group128", "group128@ue8m0")] == {"plain": "absent"}


# What is said of it.


def test_each_kind_that_was_asked_has_to_have_computed() -> None:
    done, idle = (line(QUANTISE, computed=done) for done in (True, False))
    product, linear = line(GEMM, backend="k", computed=True), line(LINEAR, backend="l")

    assert conclude([done]).sentence == "CONFORMS: 1 passed"
    assert conclude([idle]).sentence == "INCONCLUSIVE: nothing was quantised"
    assert conclude([product, idle]).sentence == "INCONCLUSIVE: nothing was quantised"
    assert conclude([done, linear]).sentence == "INCONCLUSIVE: no linear was computed"
    assert conclude([done, line(GEMM, backend="k")]).sentence.startswith("INCONCLUSIVE: no product was computed")


def test_the_line_that_reproduces_a_failure_names_the_kind() -> None:
    header = {"specs": {"q": "my:quantiser", "l": "my:linear"}, "seed": 0}
    failures = [line(QUANTISE, "failed"), line(LINEAR, "failed", "l", reproduce="")]

    assert [cause.reproduction(header) for cause in causes_of(failures)] == [
        f"conformance run --quantiser my:quantiser --case {QUANTISE}",
        f"conformance run --linear my:linear --case {LINEAR}",
    ]


def test_rows_of_a_map_name_the_axes_that_there_are() -> None:
    assert [*rows_of([QUANTISE, BLOCK, LINEAR]).values()] == ["n144-k400", "m5-k384", "m5-n144-k384"]
    assert "M 2–64 · other K blocks" in rows_of(f"q/m5-k{384 + i}/x" for i in range(30)).values()


def test_a_run_of_all_three_kinds_is_one_report(tmp_path: Path, answered: Answered) -> None:
    here = Path(__file__).parent.parent
    command = ["run", "--backend", "native", "--quantiser", "quantisers:plain", "--linear", "linears:Nothing"]
    cases = [word for id_ in (GEMM, QUANTISE, BLOCK, LINEAR) for word in ("--case", id_)]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "conformance",
            *command,
            *cases,
            "--device",
            "cpu",
            "--report",
            str(tmp_path),
            "-n",
            "2",
        ],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
    )
    header, lines, footer = read_report(tmp_path)

    assert done.returncode == 1, done.stderr
    assert footer is not None
    assert {(x["backend"], x["id"]): (x["verdict"], x["reason"]) for x in lines} == {
        ("native", GEMM): ("passed", ""),
        ("plain", QUANTISE): ("passed", ""),
        ("plain", BLOCK): ("unsupported", "plain: it has no per_block_quant_fp8."),
        ("odd", LINEAR): ("failed", "nothing-returned"),
    }
    assert header["specs"] == {"native": "native", "plain": "quantisers:plain", "odd": "linears:Nothing"}
    page = to_html(header, lines, footer)
    assert f"conformance run --linear linears:Nothing --case {LINEAR}" in page
    assert '"quantise":"--quantiser"' in page

    code, out, _ = answered("explain", LINEAR, "--report", str(tmp_path), "--json")
    (document,) = json.loads(out)
    assert code == 0
    assert document["question"]["product"].startswith("x [5, 384], quantised for 128 of K in each row, times a weight")
    assert document["reproduce_with"][0].startswith("conformance run --linear linears:Nothing --device cpu --case ")

    code, _, err = answered("explain", LINEAR, "--report", str(tmp_path), "--script")
    assert code == 2
    assert "a script shows a product of a kernel" in err


def test_explain_runs_a_case_of_a_quantiser_again(answered: Answered) -> None:
    case = QUANTISE.replace("zeros", "one-special")
    _, said, _ = answered("explain", case, "--quantiser", "reference-quantiser", "--device", "cpu")

    assert "reference-quantiser passed" in said
    assert "the one special value is NaN at x[4, 383]" in said
    assert "bits: the declared variant has to give every scale and every code" in said
    assert "1935 of 1935 explained by division" in said
