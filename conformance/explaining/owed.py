"""What a case was owed and why, in words: the promise, the tier, the arithmetic. Needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.contract import Absent, Promise, Refuse, describe_promise, promise_of, row_for
from conformance.contract.refusals import Refusal, known_refusals
from conformance.contract.row import APIS, EVIDENCE
from conformance.contract.rules import promise_of_rule
from conformance.explaining.account import Account

PRODUCT = "a right product"
WORDS: Mapping[str, str] = {
    "compute": PRODUCT,
    "right or refused": "a right product, or a refusal that leaves everything alone",
    "absent": "nothing: there is no such call here",
    "undeclared": "a refusal that leaves everything alone, or a right product; it is declared that there is none",
}
TIERS: Mapping[str, str] = {
    "exact": "exact: every partial sum is exact, so every element must be the right one",
    "bound": "bound: every element within the error bound of {whose} for these operands",
    "bits": "bits: the arithmetic {arithmetic} has to give every bit, under some split of K",
    "declared": "declared: legal kernels differ here, so only a declared arithmetic is held to it",
}


def owed(account: Account) -> dict[str, Any]:
    """What was owed: ``expected`` as the record spells it, the same in words, why, and how values are held to it."""
    expected = str(account.line.get("expected", ""))
    refusals = refusals_owed(account)
    said = " or ".join(map(str, refusals)) if refusals else WORDS.get(expected, expected)
    return {
        "expected": expected,
        "words": said if refusals or not expected.startswith("refuse") else f"a refusal ({expected})",
        "why": _why(account),
        "tier": _tier(account),
    }


def refusals_owed(account: Account) -> tuple[Refusal, ...]:
    """The refusals of which one was owed; none where a product was, or where any refusal would do."""
    expected = str(account.line.get("expected", ""))
    if not expected.startswith("refuse"):
        return ()
    promise = promise_to(account)
    if isinstance(promise, Refuse) and describe_promise(promise) == expected:
        return promise.refusals
    # A report of another suite: its label says at least which refusals of ours are meant.
    labels = expected.removeprefix("refuse").strip().split("/")
    return tuple(refusal for refusal in known_refusals() if refusal.label in labels)


def promise_to(account: Account) -> Promise | None:
    """What the contract promises of torch's own APIs on the machine of the ``account``; None for other kernels."""
    if account.api is None or account.case is None:
        return None
    case = account.case
    if case.scenario.kind == "rule":
        return promise_of_rule(case.scenario.name, account.api, account.platform, case.problem)
    return promise_of(account.api, account.platform, case.problem)


def _why(account: Account) -> str:
    """Who says so."""
    if account.case is None:
        return ""
    if account.api is None:
        return "the backend implements this problem, or was not asked beforehand"
    if account.case.scenario.kind == "rule":
        return f"a rule of {APIS[account.api]}: {account.case.scenario.catches}"
    row = row_for(account.api, account.platform, account.case.problem)
    if row is None or isinstance(row.promise, Absent):
        return ""
    return f"{APIS[account.api]} on {account.platform.spelled}: {row.evidence}, {EVIDENCE[row.evidence]} ({row.source})"


def _tier(account: Account) -> str:
    tier = str(account.line.get("tier") or (account.case.tier if account.case else ""))
    arithmetic = str(account.line.get("arithmetic", ""))
    known = arithmetic not in ("", "unconfirmed")
    whose = f"the arithmetic {arithmetic}" if known else "any right kernel"
    return TIERS.get(tier, tier).format(whose=whose, arithmetic=arithmetic or "that is declared")
