"""From an account to the text of a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from cases import FAMILIES, Case
from conformance.errors import UsageError
from conformance.explaining.account import Account
from conformance.scripting.calls import call_of
from conformance.scripting.context import context_of
from conformance.scripting.endings import ending_of
from conformance.scripting.formulas import FORMULAS
from conformance.scripting.formulas.pieces import WIDTH
from conformance.scripting.wording import about, fitting

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_LINES = 39
DEVICES = ("cpu", "cuda", "xpu", "mps")
STAND_INS = ("tagged-integers", "uniform-codes")
"""Families in place of those that take too many lines; where they are exact, nobody has to believe in a bound."""
ROOM = 0.02
"""The share of all absolute products that rounding stays within, where nobody has computed it for the operands."""
Room = Callable[[Case], float]


@dataclass(frozen=True)
class Script:
    """A way to show what an account says, with the operands of ``case``: its own, or those of a family that stands in.

    ``room`` is the share of the absolute products that rounding may take a right result off by.
    """

    account: Account
    case: Case
    ending: str
    room: float

    @property
    def has_stand_in(self) -> bool:
        """Whether the operands are not those of the account's case."""
        return self.case != self.account.case

    def text(self, shows: bool | None = None) -> str:
        """The script, "" where it is too long. ``shows``: whether it was run and did show it, None if nobody ran it."""
        call = call_of(self.account, self.case)
        context = context_of(self.account, self.case, self.ending, call, self.room)
        template = _templates().get_template(f"{self.ending}.py.jinja")
        sentences = about(self.account, self.case, call, shows)
        for spaced in (True, False):
            body = [line.rstrip() for line in template.render(**context, spaced=spaced).splitlines()]
            head = fitting(sentences, MOST_LINES - len(body))
            if head and max(map(len, body)) <= WIDTH:
                return "\n".join([*(f"# {line}" for line in head), *body, ""])
        return ""


def scripts_of(account: Account, room: Room = lambda _: ROOM) -> Iterator[Script]:
    """The scripts that may show what ``account`` says: with the operands of the case if these are a few lines, then
    with simpler ones of the same problem. Raises UsageError where no script can show it.
    """
    case = account.case
    if case is None:
        raise UsageError(f"no script can be made of {account.id}: this suite has no case of that name")
    if account.device not in DEVICES:
        raise UsageError(f"no script can be made for a device of the kind {account.device!r}")
    if case.is_huge:
        raise UsageError(f"no script can be made of {account.id}: it is too large; take a smaller case of its kind")
    ending, found = ending_of(account, case), False
    for candidate in _candidates(case, ending):
        script = Script(account, candidate, ending, room(candidate) if candidate.tier == "bound" else 0.0)
        if script.text():
            found = True
            yield script
    if not found:
        raise UsageError(f"no script of under 40 lines shows {account.id} on {account.backend}: it takes more of them")


def _candidates(case: Case, ending: str) -> Iterator[Case]:
    """The case, and cases of the same problem with values that take fewer lines."""
    for name in dict.fromkeys((case.family.name, *STAND_INS)):
        candidate = case if name == case.family.name else replace(case, family=FAMILIES[name], seed=0)
        if (name in FORMULAS or ending == "fake") and candidate.why_not() is None:
            yield candidate


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("conformance.scripting")
    return Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
