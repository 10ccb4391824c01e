"""docs/contract.md, written from the table, the refusals and the ledger: `conformance contract` prints it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cases import Problem
from cases.problem import BLOCK_RECIPES, RECIPES
from conformance.contract.described import RELEASES, default_runtime, every_platform
from conformance.contract.promises import Absent, Compute, Promise, Refuse, describe_promise
from conformance.contract.refusals import Refusal, known_refusals
from conformance.contract.row import APIS, EVIDENCE, Api, Row
from conformance.contract.rules import TABLE as RULE_ROWS
from conformance.contract.rules import RuleRow
from conformance.contract.table import TABLE, promise_of
from conformance.deviations.entry import Entry
from conformance.deviations.ledger import shipped
from conformance.markdown import table

UPSTREAM = Problem(83, 576, 7168)

HEAD = """# Contract

<!-- Written by `conformance contract`; edit conformance/contract and run `conformance contract > docs/contract.md`. -->

What torch owes for block scales is one table, `conformance/contract/table.py`, read from the top: the first line that
applies decides. Expectations of cases, the doctor and this page come from it. `conformance doctor` says what holds
here, `conformance doctor --shape M,N,K --on cuda/sm90 --torch 2.13.0` for a product on another, and
`conformance contract --from 2.13.0 --to 2.14.1` what changes between two versions.

v1 infers the recipe from the scales. With one scale on each side (M = 1, N ≤ 128, K ≤ 128) it takes the call for
tensor-wise scaling, which CPUs compute: there a right product is owed, and it does not count as a block-scaled one.
What a right product is owed in and comes out wrong is no part of the contract, but a [known deviation](deviations.md).
"""


def page() -> str:
    """The whole page, as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD
    yield "## By platform and version\n"
    yield f"Of {UPSTREAM.shape}, upstream's only test shape, with the wheels that are installed where nobody asks for"
    yield "another CUDA. `right` is a product, labels are refusals of the list below, `?` is a product or a refusal.\n"
    for api in APIS:
        yield from _overview(api)
    yield "## Refusals\n"
    yield "A refusal is an exception of this very class whose text matches; nothing may have been written by then.\n"
    yield from _table(("label", "exception", "text (regular expression)", "source"), map(_refusal, known_refusals()))
    yield "## Every line\n"
    yield from (f"* {word}: {meaning}" for word, meaning in EVIDENCE.items())
    yield ""
    head = ("platform", "architectures", "recipes", "torch", "CUDA or ROCm", "problems", "owed", "known by", "source")
    for api, call in APIS.items():
        yield f"### {api}: `{call}`\n"
        yield from _table(head, (_row(row) for row in TABLE if row.api == api))
    yield "## Rules of a raw call\n"
    yield "One thing in a call that is right otherwise is spoiled (`rule/*`, [cases](cases.md) says how). Where a plain"
    yield "call is refused already, that check may come first. The first line that applies decides.\n"
    yield from _table(("rules", "API", "platform", "torch", "owed", "known by", "source"), map(_rule, RULE_ROWS))
    yield "## Known deviations\n"
    yield "From `cases/deviations.toml`; [deviations](deviations.md) explains the entries and how to add your own.\n"
    yield from _table(("id", "backend", "where", "observed", "evidence", "source"), map(_deviation, shipped()))


def _overview(api: Api) -> Iterator[str]:
    versions = [".".join(release.split(".")[:2]) for release in RELEASES]
    runtimes = [f"{version} (CUDA {default_runtime('cuda', version)})" for version in versions]
    yield f"### {api}: `{APIS[api]}`\n"
    columns = [every_platform(release) for release in RELEASES]
    rows = [
        (f"{cells[0].kind} {cells[0].arch}", *(_short(promise_of(api, cell, UPSTREAM)) for cell in cells))
        for cells in zip(*columns, strict=True)
    ]
    yield from _table(("platform", *runtimes), rows)


def _short(promise: Promise) -> str:
    match promise:
        case Compute():
            return "right"
        case Refuse(refusals=owed):
            return "/".join(refusal.label for refusal in owed)
        case Absent():
            return "absent"
        case _:
            return "?"


def _refusal(refusal: Refusal) -> tuple[str, ...]:
    return refusal.label, " or ".join(refusal.types), _code(refusal.pattern), refusal.source


def _row(row: Row) -> tuple[str, ...]:
    archs = ", ".join(row.archs) or "all"
    conditions = (_code(row.torch), _code(row.runtime), row.problems.words)
    return (
        row.kind,
        archs,
        "blocks" if row.recipes == BLOCK_RECIPES else "all" if row.recipes == RECIPES else " and ".join(row.recipes),
        *(text or "all" for text in conditions),
        describe_promise(row.promise),
        row.evidence,
        row.source,
    )


def _rule(row: RuleRow) -> tuple[str, ...]:
    rules = ", ".join(map(_code, row.rules))
    torch = _code(row.torch) or "all"
    return rules, row.api, row.kind, torch, describe_promise(row.promise), row.evidence, row.source


def _deviation(entry: Entry) -> tuple[str, ...]:
    where = [*entry.where.platform, *entry.where.arch]
    versions = {**entry.where.versions}
    since, until = (f">={entry.since}" if entry.since else ""), (f"<{entry.until}" if entry.until else "")
    versions["torch"] = ",".join(text for text in (since, until, versions.get("torch", "")) if text)
    where += [f"{name} {text}" for name, text in versions.items() if text]
    return entry.id, ", ".join(entry.backends), ", ".join(where), entry.observed, entry.evidence, entry.link


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}" if text else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    return table(head, (list(map(_cell, row)) for row in rows))


def _cell(text: str) -> str:
    # A bar in a cell would end it, and a line break the table.
    return " ".join(text.split()).replace("|", "\\|")
