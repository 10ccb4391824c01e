"""A statement as a document that can be published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.conclude import CONFORMS
from conformance.markdown import code, inert, table
from conformance.statement.statement import Statement
from conformance.statement.told import HEAD, lists, rows, sentence, title

LONGEST = 2000
"""Characters of a sentence; the reason of a ledger may be long, and is not cut."""


def render(found: Sequence[Statement]) -> str:
    """The statements as Markdown, with nothing in it that a report could have slipped in."""
    return "\n".join(line for statement in found for line in _lines(statement)) + "\n"


def _lines(statement: Statement) -> Iterator[str]:
    yield f"# {inert(title(statement))}\n"
    yield f"{inert(_capital(sentence(statement)))}.\n"
    if statement.code == CONFORMS:
        yield from table(("", ""), ((inert(name), code(value)) for name, value in statement.about.items()))
        evidence = {each.name: each.evidence.digest for each in statement.claims}
        cells = ((*map(inert, row), code(evidence[row[0]])) for row in rows(statement))
        yield from table((*HEAD, "digest"), cells)
    for heading, sentences in lists(statement):
        yield f"## {inert(heading)}\n"
        yield from (f"* {inert(each, LONGEST)}" for each in sentences)
        yield ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
