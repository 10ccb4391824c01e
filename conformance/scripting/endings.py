"""What a script of a case has to show, and the one sentence for what none of under 40 lines can."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cases import Case
from conformance.errors import UsageError
from conformance.explaining.account import Account
from conformance.scripting.spoils import WITHOUT_VALUES

VALUES = ("", "wrong-values", "out-of-bound")
FORM = (
    "wrong-shape",
    "wrong-dtype",
    "wrong-device",
    "nothing-returned",
    "not-a-tensor",
    "tensor-subclass",
    "not-strided",
    "requires-grad",
)
REFUSAL = ("accepted", "wrong-refusal", "contract-changed")
OF_STATES: Mapping[tuple[str, str], str] = {
    ("fake", "fake-differs"): "fake",
    ("repeat", "results-differ"): "repeat",
    ("same-pointers", "wrong-values"): "pointers",
    ("same-pointers", "out-of-bound"): "pointers",
    ("same-pointers", "results-differ"): "pointers",
}
"""By the name of a state and the reason."""
CANNOT: Mapping[str, str] = {
    "unexplained-bits": "which bits a declared arithmetic gives takes a model of the matrix unit",
    "refused-late": "when a refusal comes is seen on a busy device alone",
    "later-call-changed": "what a refused call changes for the next one takes more calls",
    "elements-shared": "elements that share memory are seen in the strides of the result, and are not wrong in value",
    "not-plain": "a tensor that is no finished matrix prints as others do",
    "surroundings-changed": "everything around a call takes more to watch",
}
JUDGED = ("passed", "rejected", "failed", "known-deviation", "stale-deviation")


def ending_of(account: Account, case: Case) -> str:
    """The name of the template that shows what became of ``case``. Raises UsageError where none can."""
    verdict, reason = account.line["verdict"], str(account.line.get("reason", ""))
    if verdict not in JUDGED:
        raise _nothing(account, f"it is {verdict}, so that nothing was seen")
    if verdict == "rejected" or reason in REFUSAL:
        return _of_refusal(account)
    if case.scenario.kind in ("state", "relation") and verdict != "passed" and not _is_of_plain_call(account):
        return _of_calls(account, case, reason)
    if case.tier == "declared" and reason in VALUES:
        raise _nothing(account, CANNOT["unexplained-bits"])
    return _of_call(account, case, reason)


def _of_refusal(account: Account) -> str:
    expected = str(account.line.get("expected", ""))
    if account.line["verdict"] == "rejected" and not expected.startswith("refuse"):
        raise _nothing(account, "it is refused, as it may be")
    return "refusal"


def _is_of_plain_call(account: Account) -> bool:
    """Whether the plain call was wrong already: what is said of any other begins with which one it is."""
    return (
        re.match(
            r"\d+ of \d+ elements|the result (has|is) |(a|nothing) [^:]*came\b", str(account.line.get("detail", ""))
        )
        is not None
    )


def _of_calls(account: Account, case: Case, reason: str) -> str:
    found = OF_STATES.get((case.scenario.name, reason)) if case.scenario.kind == "state" else None
    if found is None:
        why = f"{case.scenario.prefix} takes more than one call to show, each held against another one"
        raise _nothing(account, CANNOT.get(reason, why))
    return found


def _of_call(account: Account, case: Case, reason: str) -> str:
    if reason in CANNOT:
        raise _nothing(account, CANNOT[reason])
    if reason in FORM:
        return "form"
    if reason in ("memory-changed", "out-not-used"):
        if account.api is not None:
            raise _nothing(account, "what torch does to memory is not seen in the operands that it copies")
        return "memory" if reason == "memory-changed" else "given_out"
    if case.scenario.name in WITHOUT_VALUES:
        raise _nothing(account, f"{case.scenario.prefix} has a product of its own")
    return "values"


def _nothing(account: Account, why: str) -> UsageError:
    return UsageError(f"no script of under 40 lines shows {account.id} on {account.backend}: {why}")
