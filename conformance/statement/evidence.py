"""Case lines as evidence: what was asked, read from the id, and what came, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cases import Case, parse_case
from cases.scenarios import PLAIN
from conformance.records import Line, digest
from conformance.subjects.kinds import KERNEL, kind_of

Answer = Literal["right", "refused", "wrong", "known", "declined", "untried"]
ANSWERS: Mapping[str, Answer] = {
    "passed": "right",
    "stale-deviation": "right",  # the ledger is wrong then, and the run is not green
    "rejected": "refused",
    "failed": "wrong",
    "known-deviation": "known",
}
"""What a kernel did by its verdict. Whatever else there is, nothing was tried."""
WORDS: Mapping[Answer, str] = {
    "right": "right",
    "refused": "refused",
    "wrong": "wrong",
    "known": "wrong as known",
    "declined": "declined",
    "untried": "not tried",
}
EXAMPLES = 3
"""Ids of wrong cases that are told."""


@dataclass(frozen=True)
class Tried:
    """A ``line`` of a report and its ``case``, None of a batch of generated ones and where this suite has none such."""

    line: Line
    case: Case | None

    @property
    def answer(self) -> Answer:
        """What became of it."""
        if self.line["verdict"] == "unsupported" and self.declined:
            return "declined"
        return ANSWERS.get(self.line["verdict"], "untried")

    @property
    def declined(self) -> tuple[str, ...]:
        """The declarations against it, of which one case of each kind is asked for all the same."""
        return tuple(str(self.line.get("declined", "")).split())

    @property
    def is_plain(self) -> bool:
        """Whether it is one plain call."""
        return self.case is not None and self.case.scenario is PLAIN


def tried_by(lines: Iterable[Line]) -> dict[str, list[Tried]]:
    """The cases for kernels in ``lines``, by backend."""
    found: dict[str, list[Tried]] = {}
    for line in lines:
        if kind_of(line["id"]) is KERNEL:
            found.setdefault(line["backend"], []).append(Tried(line, _case_of(line["id"])))
    return found


def _case_of(text: str) -> Case | None:
    try:
        case = parse_case(text)
    except ValueError:
        return None
    return case if isinstance(case, Case) else None


@dataclass(frozen=True)
class Evidence:
    """How many cases came to which answer, 16 hex digits over their lines, and the first of the wrong ones."""

    counts: Mapping[Answer, int]
    digest: str
    wrong: tuple[str, ...]

    @classmethod
    def of(cls, tried: Sequence[Tried]) -> Evidence:
        """The evidence that these cases are."""
        seen = Counter(each.answer for each in tried)
        wrong = [str(each.line["id"]) for each in tried if each.answer == "wrong"]
        counts: dict[Answer, int] = {answer: seen[answer] for answer in WORDS if seen[answer]}
        return cls(counts, digest(each.line for each in tried), tuple(wrong[:EXAMPLES]))

    def count(self, *answers: Answer) -> int:
        """How many cases came to one of these."""
        return sum(self.counts.get(answer, 0) for answer in answers)

    @property
    def is_tried(self) -> bool:
        """Whether the kernel was called at all."""
        return self.count("right", "refused", "wrong", "known") > 0

    @property
    def told(self) -> str:
        """The counts in words."""
        return ", ".join(f"{count:,} {WORDS[answer]}" for answer, count in self.counts.items()) or "no case"

    def to_json(self) -> dict[str, Any]:
        """As a JSON document has it."""
        return {"counts": dict(self.counts), "digest": self.digest, "wrong": list(self.wrong)}
