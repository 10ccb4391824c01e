"""What stands at the top of a page: the verdict in a word and a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conformance.conclude import BROKEN, CONFORMS, INCONCLUSIVE, WRONG
from conformance.html.inert import member
from conformance.html.looks import BROKE, CODES, RANKS, Look
from conformance.html.looks import WRONG as WRONG_VERDICTS
from conformance.records import Line

WORDS = {CONFORMS: "CONFORMS", WRONG: "WRONG", BROKEN: "BROKEN", INCONCLUSIVE: "INCONCLUSIVE"}
UNANSWERED = (*WRONG_VERDICTS, "not-run")


@dataclass(frozen=True)
class Headline:
    """A word, a sentence, how both look, and what limits them."""

    word: str
    sentence: str
    look: Look
    limits: tuple[str, ...] = ()


def headline(header: Line, lines: Sequence[Line], footer: Line | None) -> Headline:
    """The verdict on a report. A run that did not come to its end has none, whatever it found until then."""
    if footer is None:
        return Headline("INCOMPLETE", _unfinished(header, lines), CODES[INCONCLUSIVE])
    code = footer["exit_code"]
    word, _, sentence = str(footer.get("conclusion", "")).partition(": ")
    if not sentence:
        word, sentence = WORDS.get(code, "BROKEN"), _counted(lines)
    if code == CONFORMS and any(line["verdict"] in UNANSWERED for line in lines):
        return Headline("CONTRADICTORY", f"its footer says {word}, and its cases: {_counted(lines)}", BROKE)
    return Headline(word, sentence, CODES.get(code, BROKE), tuple(_limits(header, footer)))


def _unfinished(header: Line, lines: Sequence[Line]) -> str:
    planned = member(member(header, "plan", {}), "cases", 0)
    of_all = f" of {planned} planned cases" if planned else f" case{'s' * (len(lines) != 1)}"
    found = f": {_counted(lines)}" if lines else ""
    return (
        "this run did not come to its end, so it proves nothing about the cases that it did not reach. "
        f"It judged {len(lines)}{of_all}{found}"
    )


def _counted(lines: Sequence[Line]) -> str:
    counts = Counter(line["verdict"] for line in lines)
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in RANKS if counts[verdict]) or "no case"


def _limits(header: Line, footer: Line) -> Iterator[str]:
    if header.get("shard"):
        yield f"shard {header['shard']} of the plan: merge all of them to answer for the whole"
    elif not footer["complete"]:
        yield "a part of the plan: it answers for the cases that were selected and run, and for no others"
