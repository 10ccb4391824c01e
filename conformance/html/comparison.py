"""The page of a comparison: `conformance diff OLD NEW --html FILE`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from conformance.diff.compare import Difference
from conformance.diff.kinds import KINDS, Kind
from conformance.diff.result import Diff, Group
from conformance.diff.sides import Side
from conformance.html.embedded import Embedding, in_turn
from conformance.html.headline import Headline
from conformance.html.inert import inert
from conformance.html.looks import BROKE, CHANGES, CODES
from conformance.html.rendering import put, render
from conformance.html.reproduction import OPTIONS, Reproduction
from conformance.records import Line

GROUPS = 100
"""Groups that are told; the list has all of their cases."""
PICTURED = 12
"""Groups of a kind that are told with a picture and the lines that run an example again."""
FACTS = (
    *(("change", "change"), ("check", "check"), ("old", "was"), ("new", "is")),
    *(("detail", "came"), ("finding", "finding"), ("where", "where")),
)
"""What is shown of a case when it is opened, and how it is called."""
EVIDENCE = ("finding", "where", "first_wrong", "picture", "reproduce")
"""Members of a line of NEW that a page shows beside the difference."""


def write_comparison(found: Diff, new: Side, page: Path) -> None:
    """Render ``found``, a comparison with the report ``new``, to ``page``. Raises UsageError for an unwritable one."""
    put(to_html(found, new), page)


def to_html(found: Diff, new: Side) -> str:
    """The page of a comparison."""
    found, again = _inert(found), Reproduction(inert(new.header))
    seen = {(inert(backend), inert(name)): inert(line) for (backend, name), line in new.lines.items()}
    rows = {each: _row(each, seen) for each in found.differences}
    places = {each: place for place, each in enumerate(rows)}
    members = [[places[each] for each in group.members] for group in found.groups]
    return render(
        "diff.html.jinja",
        headline=_headline(found),
        runs=found.runs,
        counts=[(KINDS[name], count, CHANGES[name]) for name, count in found.counts.items()],
        kinds=list(_kinds(found)),
        more_groups=len(found.groups) - GROUPS,
        looks=CHANGES,
        places=places,
        rows=rows,
        lines_of=again.of,
        filters=_filters(found),
        data={
            **Embedding(list(rows.values())).document(in_turn(members)),
            "looks": {name: [look.symbol, look.tone] for name, look in CHANGES.items()},
            "face": "change",
            "notes": ["old", "new"],
            "facts": FACTS,
            "facets": {},
            "commands": again.commands,
            "specs": again.specs,
            "options": OPTIONS,
        },
    )


def _inert(found: Diff) -> Diff:
    differences = tuple(Difference(**inert(asdict(each))) for each in found.differences)
    texts: Any = {name: inert(getattr(found, name)) for name in ("runs", "torch", "doubts")}
    return replace(found, differences=differences, **texts)


def _headline(found: Diff) -> Headline:
    word, _, sentence = found.sentence.partition(": ")
    return Headline(word, sentence, CODES.get(found.code, BROKE))


def _kinds(found: Diff) -> Iterator[tuple[Kind, list[Group], list[Group]]]:
    """Every kind with its groups: those to look at closely, and those of which a line says enough."""
    for kind, members in groupby(found.groups[:GROUPS], lambda group: group.kind):
        groups = list(members)
        pictured = PICTURED if "explain" in kind.do else 0
        yield kind, groups[:pictured], groups[pictured:]


def _row(each: Difference, seen: Mapping[tuple[str, str], Line]) -> Line:
    line = seen.get((each.backend, each.id), {})
    return {**{name: line[name] for name in EVIDENCE if name in line}, **asdict(each)}


def _filters(found: Diff) -> list[tuple[str, list[Any]]]:
    """The filters with their choices."""
    return [
        ("change", [("", list(found.counts))]),
        ("backend", [("", sorted({each.backend for each in found.differences}))]),
        ("check", [("", sorted({each.check for each in found.differences} - {""}))]),
    ]
