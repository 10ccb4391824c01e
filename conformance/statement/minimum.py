"""The least that a statement takes: below it there is a report, and no statement.

A kernel that serving engines could use has the recipe `1x128-128x128` with e4m3fn on both sides and results in bf16,
for M from 1 to 8192, and at the layers of real models. Whether it has is for the plain calls of profile `standard` to
say: every one of them has to have come out right, in a run that was not cut down and conforms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from cases import Case
from cases.plan import sections
from cases.scenarios import PLAIN
from conformance.conclude import CONFORMS, conclusion_of
from conformance.records import Line
from conformance.statement.evidence import WORDS, Tried

RECIPE, FORMAT, OUT, MOST_ROWS = "1x128-128x128", "e4m3fn", "bf16", 8192
PROFILES = ("standard", "full")
LAYERS = "layers"
"""The section of the plan that has the layers of real models."""
TOLD = f"{RECIPE}, {FORMAT}, {OUT}, M of 1 to {MOST_ROWS}, real layers"


@cache
def minimum() -> Mapping[str, bool]:
    """The ids of the cases of the minimum, and whether each is a layer of a real model."""
    planned = ((name == LAYERS, case) for name, cases in sections("standard").items() for case in cases)
    return {case.id: is_layer for is_layer, case in planned if _is_within(case)}


def _is_within(case: Case) -> bool:
    problem = case.problem
    kind = (problem.recipe, problem.a, problem.b, problem.out)
    is_plain = case.scenario is PLAIN and case.tier != "declared" and problem.is_aligned
    return is_plain and kind == (RECIPE, FORMAT, FORMAT, OUT) and 1 <= problem.m <= MOST_ROWS


def lacks(header: Line, lines: Sequence[Line], footer: Line | None, tried: Sequence[Tried]) -> tuple[str, ...]:
    """What is missing for a statement of the kernel that was ``tried`` in this report, in sentences."""
    of_run = list(_lacks_of_run(header, lines, footer))
    if not any(each.line.get("computed") for each in tried):
        return (*of_run, "no product was computed: the kernel only refused, or was not called")
    return (*of_run, *_lacks_of_kernel(tried, whole=not of_run))


def _lacks_of_run(header: Line, lines: Sequence[Line], footer: Line | None) -> Iterator[str]:
    if footer is None:
        yield "the run did not come to its end"
        return
    conclusion = conclusion_of(header, lines, footer)
    if conclusion.code != CONFORMS:
        yield f"the run does not conform, which says {conclusion.sentence}"
    if header["profile"] not in PROFILES:
        yield f"profile {header['profile']} tries too little: run profile {' or '.join(PROFILES)}"
    if header.get("shard"):
        yield f"it is shard {header['shard']} of a run: merge all of them"
    elif not footer["complete"] or header.get("selected"):
        yield "only a selection of the plan was run: leave out -k, --case and --model"


def _lacks_of_kernel(tried: Sequence[Tried], *, whole: bool) -> Iterator[str]:
    """What the minimum asks for and did not get; what the run left out counts where it was to be ``whole``."""
    came = {str(each.line["id"]): each for each in tried}
    for what, wanted in (("cases", False), ("layers of real models", True)):
        asked = [text for text, is_layer in minimum().items() if is_layer == wanted]
        groups: dict[str, list[str]] = {}
        for text in asked:
            if whole or text in came:
                groups.setdefault(_missing(came.get(text)), []).append(text)
        for how, ids in groups.items():
            if how:
                yield f"{what} of the minimum ({TOLD}) that {how}: {len(ids)} of {len(asked)}, the first {ids[0]}"


def _missing(each: Tried | None) -> str:
    """How a case of the minimum did not come out right; empty where it did."""
    if each is None:
        return "are not in the report"
    if each.answer == "right":
        return "" if each.line.get("computed") else "were taken for another recipe"
    by = f" by {' and '.join(each.declined)}" if each.answer == "declined" else ""
    known = f" ({each.line.get('deviation', '')})" if each.answer == "known" else ""
    return f"were {WORDS[each.answer]}{by}{known}"
