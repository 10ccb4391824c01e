"""What a script says of itself in its first lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from cases import Case
from cases.problem import OUT_DTYPES
from conformance.explaining.account import Account
from conformance.scripting.calls import Call
from conformance.scripting.formulas.pieces import WIDTH
from conformance.terminal import plain

LIBRARIES = ("cublas", "cuda", "hip")
LONGEST = 240
WRONG = ("failed", "known-deviation")
CODES = "Exit code: 1 if it is wrong, 0 if right, 2 if it cannot be tried."


def about(account: Account, case: Case, call: Call, shows: bool | None) -> list[str]:
    """Sentences, the most important ones first: what is wrong, where that was seen, whose operands these are."""
    return [plain(sentence) for sentence in _sentences(account, case, call, shows)]


def _sentences(account: Account, case: Case, call: Call, shows: bool | None) -> Iterator[str]:
    yield f"{call.name} {_what(account)}: {_product(case)}."
    yield f"Seen with {', '.join(_versions(account))}."
    yield from _operands(account, case, shows)
    yield CODES
    if account.line.get("detail"):
        yield f"{_short(str(account.line['detail']))}."
    if account.line.get("finding"):
        yield f"{_short(str(account.line['finding']).capitalize())}."


def _what(account: Account) -> str:
    if account.line["verdict"] in WRONG:
        return f"is wrong ({account.line['reason']})"
    return "refuses as it has to" if account.line["verdict"] == "rejected" else "is right"


def _product(case: Case) -> str:
    problem = case.problem
    a, b = f"A [{problem.m}, {problem.k}] {problem.a}", f"B [{problem.n}, {problem.k}] {problem.b}"
    also = f", {case.scenario.prefix}" if case.scenario.name else ""
    return f"{a}, {b}, scales {problem.recipe}, result {OUT_DTYPES[problem.out]}{also}"


def _versions(account: Account) -> Iterator[str]:
    yield f"torch {account.header['torch']}"
    facts = account.header.get("backends", {}).get(account.backend)
    facts = facts if isinstance(facts, dict) else {}
    yield from (f"{name} {facts[name]}" for name in LIBRARIES if facts.get(name))
    if account.header.get("driver"):
        yield f"driver {account.header['driver']}"
    yield f"on {account.header.get('device_name') or account.device}"


def _operands(account: Account, case: Case, shows: bool | None) -> Iterator[str]:
    if case == account.case:
        yield f"Case {account.id}."
    else:
        tried = {True: ", and they show it", False: ", but they do NOT show it", None: ", which may not show it"}[shows]
        yield f"The operands are {case.family.name} in place of those of {account.id}{tried}."
    if case == account.case and shows is False:
        yield "Run once more in a process of its own, this did NOT show it."
    if account.api is None:
        yield "Needs torch and the module of the kernel."


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def fitting(sentences: Sequence[str], most: int) -> list[str]:
    """As many of the ``sentences`` as fit into ``most`` lines of a comment; nothing where the first two do not."""
    lines: list[str] = []
    for count in range(len(sentences), 1, -1):
        lines = textwrap.wrap(" ".join(sentences[:count]), WIDTH - 2, break_on_hyphens=False)
        if len(lines) <= most:
            return lines
    return []
