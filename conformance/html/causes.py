"""What is wrong, by its cause: the fault that was named, else the reason and the shape of the error."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conformance.html.inert import member
from conformance.html.looks import RANKS, VERDICTS, WRONG, Look
from conformance.html.shapes import shape_in
from conformance.records import Line

NUMBER = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?%?")
LONGEST = 120


@dataclass(frozen=True)
class Cause:
    """Cases that are wrong for one reason, as places in the list of cases, the smallest problem first."""

    name: str
    members: Sequence[int]
    example: Line
    backends: Mapping[str, int]

    @property
    def is_news(self) -> bool:
        """Whether no ledger foresees it."""
        return self.example["verdict"] in WRONG

    @property
    def look(self) -> Look:
        """How the verdict on its cases looks."""
        return VERDICTS[self.example["verdict"]]

    @property
    def sentence(self) -> str:
        """What was found, or at least what was seen, in the example; nothing where the name says just that."""
        found = member(self.example, "finding", "") or member(self.example, "detail", "")
        return "" if self.name.endswith(found) else found


def causes(cases: Sequence[Line]) -> list[Cause]:
    """Every cause: of what is wrong first, then of what is known to be; the largest first."""
    groups: dict[str, list[int]] = {}
    for index, line in enumerate(cases):
        if line["verdict"] in WRONG or line["verdict"] == "known-deviation":
            groups.setdefault(cause_of(line), []).append(index)
    found = [_cause(name, members, cases) for name, members in groups.items()]
    return sorted(found, key=lambda cause: (not cause.is_news, -len(cause.members)))


def cause_of(line: Line) -> str:
    """The name of what is wrong with ``line``, empty where nothing is."""
    if line["verdict"] not in WRONG and line["verdict"] != "known-deviation":
        return ""
    return _short(" · ".join(_parts(line)))


def _parts(line: Line) -> Iterator[str]:
    if line.get("deviation"):
        yield f"{line['verdict']} {line['deviation']}"
    elif line.get("fault"):
        yield str(line["fault"])
    else:
        yield line["reason"] or line["verdict"]
        # Where no element was compared, what was said tells causes apart, but not by its numbers.
        said = line.get("shape") or NUMBER.sub("…", line.get("detail", ""))
        yield from [str(said)] if said else []


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _cause(name: str, members: Sequence[int], cases: Sequence[Line]) -> Cause:
    ordered = sorted(members, key=lambda index: _ease(cases[index]))
    return Cause(name, ordered, cases[ordered[0]], Counter(cases[index]["backend"] for index in members))


def _ease(line: Line) -> tuple[int, bool, int]:
    """How hard a case is to look at: the worst verdict, then one with a picture, of the smallest problem."""
    shape = shape_in(line["id"])
    return RANKS[line["verdict"]], "picture" not in line, shape.m * shape.n * shape.k if shape else 0
