"""A statement in words, the same in a terminal, on a page and in Markdown: headings, a table, lists of sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.conclude import CONFORMS
from conformance.statement.minimum import TOLD
from conformance.statement.statement import Statement

HEAD = ("claim", "said", "found", "evidence")


def title(statement: Statement) -> str:
    """What it is a statement of, or that there is none."""
    what = "Conformance statement" if statement.code == CONFORMS else "No conformance statement"
    return f"{what}: {statement.backend}"


def sentence(statement: Statement) -> str:
    """What all of it comes to."""
    if statement.code != CONFORMS:
        return "there is a report, and it does not reach what a statement takes"
    known = sum(len(each.cases) for each in statement.exceptions)
    but = f", but for {known:,} cases that are known to be wrong (see the exceptions)" if known else ""
    return f"every case of the minimum ({TOLD}) is right, and no claim below is contradicted{but}"


def lists(statement: Statement) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What stands beside the claims: headings, and sentences under them."""
    stated = statement.code == CONFORMS
    contradicted = (f"{each.name}: {each.told}, as {each.evidence.wrong[0]}" for each in statement.contradictions)
    yield from (
        (heading, sentences)
        for heading, sentences in (
            ("What is missing", () if stated else statement.lacking),
            ("Contradicted", tuple(contradicted)),
            ("Exceptions, known to be wrong", tuple(each.told for each in statement.exceptions)),
            ("Declined", (statement.share,) if stated else ()),
            ("Works though it is not declared", statement.beyond if stated else ()),
            ("Nothing is said of", statement.untried if stated else ()),
        )
        if sentences
    )


def rows(statement: Statement) -> list[tuple[str, str, str, str]]:
    """The claims as a table under `HEAD`; none where there is no statement."""
    if statement.code != CONFORMS:
        return []
    return [(each.name, each.said, each.found, each.told) for each in statement.claims]


def told(statement: Statement) -> dict[str, Any]:
    """All of it, for a template."""
    return {
        "title": title(statement),
        "sentence": sentence(statement),
        "head": HEAD,
        "claims": rows(statement),
        "lists": list(lists(statement)),
    }
