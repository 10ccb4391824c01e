"""What a report lets its reader claim: the minimum, claims against evidence, exceptions, and texts that are data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_reports import Command, Line, about, line, write

from cases import parse_case
from conformance.conclude import CONFORMS, INCONCLUSIVE, WRONG, Conclusion
from conformance.html.page import to_html
from conformance.records import footer, read_report
from conformance.statement.claim import Claim
from conformance.statement.markdown import render
from conformance.statement.minimum import TOLD, minimum
from conformance.statement.statement import Statement, statements

RECIPE = "1x128-128x128"
DECLARED: dict[str, Any] = {"recipes": [RECIPE], "capabilities": {}, "model": False}
LAYER = next(text for text, is_layer in minimum().items() if is_layer)
ORDINARY = next(text for text, is_layer in minimum().items() if not is_layer)


def case(verdict: str, text: str, **more: Any) -> Line:
    """The line of the case ``text``, with its recipe."""
    found = {**line(verdict, **more), "id": text}
    return {"computed": verdict == "passed", **{k: v for k, v in found.items() if k != "computed"}} | more


def lines_with(*others: Line) -> list[Line]:
    """A line for every case of the minimum, right unless it is among the ``others``, and those."""
    named = {each["id"] for each in others}
    return [case("passed", text) for text in minimum() if text not in named] + list(others)


def stated(
    *others: Line,
    declared: Any = DECLARED,
    lines: list[Line] | None = None,
    code: int = CONFORMS,
    complete: bool = True,
    **header: Any,
) -> Statement:
    """The statement about the backend ``b`` of a report with these lines."""
    own = lines_with(*others) if lines is None else lines
    head = about(**{"profile": "standard", "declared": {"b": declared}, **header})
    (found,) = statements(head, own, footer(own, complete=complete, conclusion=Conclusion(code, "what it came to")))
    return found


def claim(statement: Statement, name: str) -> Claim:
    (found,) = (each for each in statement.claims if each.name == name)
    return found


# The minimum


def test_the_minimum_has_bf16_plain_calls_of_one_recipe_and_the_layers_of_models() -> None:
    problems = [parse_case(text).problem for text in minimum()]  # type: ignore[union-attr]

    assert {(p.recipe, p.a, p.b, p.out) for p in problems} == {(RECIPE, "e4m3fn", "e4m3fn", "bf16")}
    assert {text.split("/")[0] for text in minimum()} == {"gemm"}
    assert (min(p.m for p in problems), max(p.m for p in problems)) == (1, 4095)
    assert all(p.is_aligned for p in problems)
    assert sum(minimum().values()) > 90


def test_a_whole_run_in_which_all_of_the_minimum_is_right_is_stated() -> None:
    found = stated()

    assert (found.lacking, found.code) == ((), CONFORMS)
    assert claim(found, f"recipe {RECIPE}").evidence.counts == {"right": len(minimum())}


LESS: dict[str, tuple[Callable[[], Statement], str]] = {
    "another profile": (
        lambda: stated(profile="quick"),
        "profile quick tries too little: run profile standard or full",
    ),
    "a selection": (lambda: stated(selected=True), "only a selection of the plan was run: leave out -k, --case"),
    "not complete": (lambda: stated(complete=False), "only a selection of the plan was run"),
    "a shard": (lambda: stated(shard="1/3", complete=False), "it is shard 1/3 of a run: merge all of them"),
    "inconclusive": (lambda: stated(code=INCONCLUSIVE), "the run does not conform, which says what it came to"),
    "an older suite": (lambda: stated(declared=None), "the report does not say what was declared: run it again"),
    "damaged": (lambda: stated(declared={"capabilities": {"dtypes": 3}}), "what was declared cannot be read: "),
    "a layer refused": (
        lambda: stated(case("rejected", LAYER)),
        f"layers of real models of the minimum ({TOLD}) that were refused: 1 of 101, the first {LAYER}",
    ),
    "a case declined": (
        lambda: stated(case("unsupported", ORDINARY, declined="largest can_implement")),
        f"that were declined by largest and can_implement: 1 of 792, the first {ORDINARY}",
    ),
    "a case wrong as known": (
        lambda: stated(case("known-deviation", ORDINARY, deviation="v1-b")),
        "that were wrong as known (v1-b): 1 of 792",
    ),
    "another recipe": (
        lambda: stated({**case("passed", LAYER), "computed": False}),
        "that were taken for another recipe: 1 of 101",
    ),
    "a case left out": (
        lambda: stated(lines=lines_with()[1:]),
        f"cases of the minimum ({TOLD}) that are not in the report: 1 of 792",
    ),
}


@pytest.mark.parametrize("less", LESS)
def test_with_less_there_is_no_statement_and_a_sentence_says_what_is_missing(less: str) -> None:
    made, says = LESS[less]
    found = made()

    assert found.code == INCONCLUSIVE
    assert says in " | ".join(found.lacking)


def test_refusals_alone_are_no_statement() -> None:
    found = stated(lines=[case("rejected", text) for text in minimum()])

    assert found.lacking == ("no product was computed: the kernel only refused, or was not called",)


def test_a_run_that_was_killed_has_none() -> None:
    (found,) = statements(about(profile="standard", declared={"b": DECLARED}), lines_with(), None)

    assert found.lacking == ("the run did not come to its end",)


# Claims


@pytest.mark.parametrize(
    ("came", "found"),
    [
        ("passed", "holds"),
        ("rejected", "refused"),
        ("failed", "contradicted"),
        ("known-deviation", "holds but for exceptions"),
        ("not-run", "not tried"),
        ("error", "not tried"),
    ],
)
def test_a_claim_is_what_its_cases_show(came: str, found: str) -> None:
    text = f"layout/a-rows-padded/{RECIPE}/m5-n144-k400/bf16/tagged-integers/s0"
    made = stated(case(came, text), declared={**DECLARED, "capabilities": {"strided_operands": True}})

    assert (claim(made, "strided operands").said, claim(made, "strided operands").found) == ("declared", found)


def test_a_claim_that_evidence_contradicts_is_wrong_and_names_the_case() -> None:
    wrong = f"layout/a-rows-padded/{RECIPE}/m5-n144-k400/bf16/tagged-integers/s0"
    made = stated(case("failed", wrong), code=WRONG)

    assert made.code == WRONG
    assert [each.name for each in made.contradictions] == ["right or refused, in every case", "strided operands"]
    assert claim(made, "strided operands").evidence.wrong == (wrong,)


PLAIN = f"gemm/{RECIPE}/m5-n144-k400/fp32/tagged-integers/s0"


def test_what_is_declined_is_counted_and_what_works_all_the_same_is_told() -> None:
    asked = case("passed", PLAIN, declined="dtypes", computed=False)
    others = [case("unsupported", PLAIN.replace("k400", f"k{128 * i}"), declined="dtypes") for i in (1, 2)]
    limits = {"dtypes": ["e4m3fn", "bf16"], "divisible": {"n": 1, "k": 16}, "largest": {"m": 4095}, "zero_sizes": False}
    made = stated(asked, *others, declared={**DECLARED, "capabilities": limits})

    assert (made.declined, made.planned) == (3, len(minimum()) + 3)
    assert made.share == f"3 of {len(minimum()) + 3} planned cases ({3 / (len(minimum()) + 3):.1%})"
    assert claim(made, "result fp32").said == "declined"
    assert claim(made, "result bf16").said == claim(made, "operands e4m3fn").said == "declared"
    assert claim(made, "asked for beyond its dtypes").told == "1 right, 2 declined"
    assert "dtypes: 1 right, 2 declined" in made.beyond
    # Multiples of 16 are every kernel's: none of the minimum shows that N may be anything.
    assert claim(made, "N in multiples of 1").found == "not tried"
    assert claim(made, "K in multiples of 16").found == "holds"
    assert claim(made, "M up to 4095").note == "the largest tried is 4095"
    assert "M = 0" not in [each.name for each in made.claims]


def test_a_refusal_beyond_the_declaration_is_no_work_undeclared() -> None:
    made = stated(case("rejected", PLAIN, declined="divisible"))

    assert claim(made, "asked for beyond its divisible").found == "refused"
    assert not any("divisible" in each for each in made.beyond)


def test_bits_are_counted_over_all_cases_that_an_arithmetic_was_held_to() -> None:
    held = {"arithmetic": "sm90", "elements": 720, "tier": "bound"}
    declared = {**DECLARED, "arithmetic": "sm90"}
    made = stated(case("passed", PLAIN, explained=720, **held), declared=declared)
    wrong = stated(case("failed", PLAIN, explained=700, reason="unexplained-bits", **held), declared=declared)
    loose = stated(case("passed", PLAIN, explained=700, **{**held, "arithmetic": "unconfirmed"}), declared=declared)

    assert (claim(made, "arithmetic sm90").found, claim(made, "arithmetic sm90").note) == (
        "holds",
        "720 of 720 elements to the last bit",
    )
    assert claim(wrong, "arithmetic sm90").found == "contradicted"
    assert claim(loose, "arithmetic sm90").found == "holds in part"


def test_properties_that_were_not_seen_hold_in_part() -> None:
    states = [f"state/{name}/{RECIPE}/m5-n144-k400/bf16/tagged-integers/s0" for name in ("repeat", "batch-invariance")]
    made = stated(case("passed", states[0], holds=True), case("passed", states[1], holds=False))

    assert claim(made, "determinism").found == "holds"
    assert (claim(made, "batch invariance").found, claim(made, "batch invariance").note) == (
        "holds in part",
        "1 of them with other bits",
    )


def test_what_is_known_to_be_wrong_is_an_exception_with_the_reason_of_its_ledger() -> None:
    ledger = {"own-1": {"observed": "it is wrong", "reason": "so it is", "link": "https://example.org/1"}}
    made = stated(case("known-deviation", PLAIN, deviation="own-1"), deviations=ledger)
    bare = stated(case("known-deviation", PLAIN, deviation="own-1"))

    assert made.code == CONFORMS
    (told,) = (each.told for each in made.exceptions)
    assert told == f"own-1 (1 case, such as {PLAIN}): it is wrong: so it is (https://example.org/1)"
    assert bare.exceptions[0].told.endswith(": its ledger is not in the report")
    for text in (render([made]), to_html(*whole(made, ledger))):
        assert "1 cases that are known to be wrong" in text
        assert "so it is" in text


def whole(_: Statement, ledger: Any) -> tuple[Line, list[Line], Line]:
    lines = lines_with(case("known-deviation", PLAIN, deviation="own-1"))
    head = about(profile="standard", declared={"b": DECLARED}, deviations=ledger)
    return head, lines, footer(lines, complete=True, conclusion=Conclusion(CONFORMS, "CONFORMS: all"))


def test_a_reader_is_told_what_was_not_tried() -> None:
    untried = "\n".join(stated(case("unsupported", PLAIN, reason="needs a GPU")).untried)

    assert "most M: of 1 to 8192 the minimum tried 57, none from 273 to 4094, none from 4096 to 8192" in untried
    assert "recipes that are not its own: 128x128-1x128, 1x128-1x128" in untried
    assert "the paths sm90, non_sm90, rocm, xpu, mps" in untried
    assert "1 cases: needs a GPU" in untried


def test_quantisers_and_cases_of_other_suites_have_no_claim_and_no_error() -> None:
    lines = [*lines_with(case("passed", "gemm/nobody/knows/this")), {**case("passed", "quantise/x"), "backend": "q"}]
    head = about(profile="standard", declared={"b": DECLARED}, backends={"b": {}, "q": {}})
    found = statements(head, lines, footer(lines, complete=True, conclusion=Conclusion(CONFORMS, "CONFORMS")))

    assert [(each.backend, each.planned) for each in found] == [("b", len(minimum()) + 1)]


# The command, and what it prints


def put(folder: Path, *others: Line, code: int = 0, **header: Any) -> Path:
    """A report in ``folder``."""
    head = about(**{"profile": "standard", "declared": {"b": DECLARED}, **header})
    return write(folder, head, *lines_with(*others), code=code)


def test_the_exit_code_says_whether_there_is_a_statement(tmp_path: Path, command: Command) -> None:
    wrong = case("failed", PLAIN, reason="wrong-values")
    reports = [
        put(tmp_path / "stated"),
        put(tmp_path / "none", profile="quick"),
        put(tmp_path / "contradicted", wrong, code=1),
    ]

    codes = [command("statement", report) for report in reports]

    assert [code for code, _, _ in codes] == [CONFORMS, INCONCLUSIVE, WRONG]
    assert [out.splitlines()[0] for _, out, _ in codes] == [
        "Conformance statement: b",
        "No conformance statement: b",
        "No conformance statement: b",
    ]
    assert "What is missing\n  profile quick tries too little" in codes[1][1]
    assert PLAIN in codes[2][1]


def test_the_document_has_every_claim_with_its_evidence(tmp_path: Path, command: Command) -> None:
    report = put(tmp_path)
    code, out, _ = command("statement", report, "--json")
    (found,) = json.loads(out)["statements"]

    assert (code, json.loads(out)["exit_code"], found["is_stated"]) == (0, 0, True)
    assert found["claims"][1] == {
        "claim": f"recipe {RECIPE}",
        "said": "declared",
        "found": "holds",
        "counts": {"right": len(minimum())},
        "digest": read_report(report)[2]["digest"],  # type: ignore[index]
        "wrong": [],
    }
    assert found["about"]["digest of the report"] == found["claims"][0]["digest"]


def test_show_and_the_end_of_a_run_print_it(tmp_path: Path, command: Command) -> None:
    _, out, _ = command("show", put(tmp_path / "stated"))
    _, brief, _ = command("show", put(tmp_path / "none", profile="quick", selected=True))
    _, document, _ = command("show", put(tmp_path / "json"), "--json")

    assert "Conformance statement: b" in out
    assert out.rstrip().splitlines()[-2] == "what it came to"
    assert "no statement about b: profile quick tries too little: run profile standard or full (and 1 more" in brief
    assert json.loads(document)["statements"][0]["is_stated"] is True


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--backend", "bb"), "unknown kernel of this report 'bb'"),
        (("--json", "--markdown"), "two forms of the same: choose one"),
    ],
)
def test_a_wrong_call_is_one_sentence(arguments: tuple[str, ...], says: str, tmp_path: Path, command: Command) -> None:
    code, out, err = command("statement", put(tmp_path), *arguments)

    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert says in err


def test_a_report_without_kernels_is_one_sentence(tmp_path: Path, command: Command) -> None:
    quantised = {**case("passed", "quantise/x"), "backend": "q"}
    code, out, err = command("statement", write(tmp_path, about(backends={"q": {}}), quantised))

    assert (code, out) == (2, "")
    assert "is about no kernel" in err


def test_it_needs_no_torch(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from conformance.statement.answer import answer\n"
        f"print(answer(Path({str(put(tmp_path))!r}), ()).code, 'torch' in sys.modules)"
    )

    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "0 False\n"


EVIL = "<script>alert(1)</script>\x1b[31m`|*[x](javascript:1)"


def evil() -> tuple[Line, list[Line], Line]:
    """A report of hostile texts wherever it may have any."""
    lines = [
        {**each, "backend": EVIL}
        for each in lines_with(
            case("known-deviation", PLAIN, deviation=EVIL),
            case("unsupported", PLAIN.replace("k400", "k128"), declined=EVIL, reason=EVIL),
            case("passed", PLAIN.replace("k400", "k256"), arithmetic=EVIL, explained=1, elements=1),
        )
    ]
    head = about(
        profile="standard",
        declared={EVIL: {**DECLARED, "recipes": [RECIPE, EVIL], "arithmetic": EVIL}},
        backends={EVIL: {EVIL: EVIL}},
        specs={EVIL: EVIL},
        deviations={EVIL: {"observed": EVIL, "reason": EVIL, "link": EVIL}},
        command=[EVIL],
        device_name=EVIL,
    )
    return head, lines, footer(lines, complete=True, conclusion=Conclusion(CONFORMS, "CONFORMS: all"))


def test_a_report_is_data_in_markdown_on_the_page_and_in_a_terminal(tmp_path: Path, command: Command) -> None:
    head, lines, ending = evil()
    (found,) = statements(head, lines, ending)
    report = write(tmp_path, head, *lines)

    assert found.code == CONFORMS
    _, printed, _ = command("statement", report)
    assert "<script>" in printed
    assert "\x1b" not in printed
    for text in (render([found]), to_html(head, lines, ending).split('id="cases"')[0]):
        assert "alert" in text
        assert "<script>" not in text
        assert "\x1b" not in text
    assert "](javascript" not in render([found])


@pytest.mark.parametrize("odd", [{"recipes": 3}, {"recipes": [[]]}, {"arithmetic": []}, {"model": 1}])
def test_a_declaration_of_another_form_harms_nobody(odd: Any, tmp_path: Path, command: Command) -> None:
    code, out, _ = command("statement", put(tmp_path, declared={"b": odd}))

    assert (code, out.splitlines()[0]) == (CONFORMS, "Conformance statement: b")


@pytest.mark.parametrize("odd", [3, {"b": 3}, {"b": [1]}])
def test_a_declaration_that_is_none_is_a_damaged_report(odd: Any, tmp_path: Path, command: Command) -> None:
    code, out, err = command("statement", put(tmp_path, declared=odd))

    assert (code, out) == (2, "")
    assert "has a member 'declared'" in err


def test_the_page_has_the_numbers_of_the_minimum() -> None:
    page = " ".join((Path(__file__).parents[2] / "docs/statement.md").read_text(encoding="utf-8").split())
    layers = sum(minimum().values())

    assert f"({len(minimum()) - layers} cases), and those of the layers of public models ({layers})" in page
