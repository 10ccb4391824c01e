"""`conformance explain`: accounts of the cases asked for, as a document, for people, or as a script."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from conformance.errors import UsageError
from conformance.explaining.account import Account, accounts_in
from conformance.explaining.document import document
from conformance.outputs import writing
from conformance.subjects.kinds import KERNEL, LINEAR, QUANTISER, Kind, kind_of

WRONG = ("failed", "known-deviation", "stale-deviation")


@dataclass(frozen=True)
class Answer:
    """The accounts of the cases asked for, from a report or from a rerun."""

    accounts: Sequence[Account]

    @property
    def documents(self) -> list[dict[str, Any]]:
        """One JSON document each."""
        return [document(account) for account in self.accounts]

    def render(self) -> None:
        """Print them for people."""
        from conformance.explaining.terminal import render

        render(self.documents)

    def write_script(self, to: Path | None) -> None:
        """Print the script of the one account that is wrong, or of the only one, or write it to the file ``to``.

        Raises UsageError where there are several, where no script can show it, and where ``to`` cannot be written.
        """
        account = self._one()
        if account.case is None and account.question is not None:
            raise UsageError(
                f"a script shows a product of a kernel, and {account.id!r} is for a {kind_of(account.id).noun}"
            )
        text, said = _from_report(account) if account.source else _from_rerun(account)
        if to is None:
            sys.stdout.write(text)
        else:
            _write(to, text)
        sys.stderr.write(f"conformance: {said}\n")

    def _one(self) -> Account:
        wrong = [account for account in self.accounts if account.line["verdict"] in WRONG]
        candidates = wrong or list(self.accounts)
        if len(candidates) != 1:
            named = ", ".join(dict.fromkeys(account.backend for account in candidates))
            raise UsageError(f"a script shows one case on one backend: choose one with --backend, of {named}")
        return candidates[0]


def answer(
    cases: Sequence[str], named: Mapping[Kind, Sequence[str]], *, device: str | None, seed: int, report: Path | None
) -> Answer:
    """The accounts of ``cases`` on what is ``named`` of each kind. Raises UsageError for what is not there."""
    if report is not None:
        return Answer(accounts_in(report, cases, [name for names in named.values() for name in names]))
    from conformance.explaining.rerunning import rerun
    from conformance.request import Request

    more: dict[str, Any] = {"quantisers": tuple(named.get(QUANTISER, ())), "linears": tuple(named.get(LINEAR, ()))}
    return Answer(rerun(Request(tuple(named.get(KERNEL, ())), device, seed=seed, cases=tuple(cases), **more)))


def _from_report(account: Account) -> tuple[str, str]:
    from conformance.scripting.script import scripts_of

    script = next(scripts_of(account))
    return script.text(), "the script was made from the report and was not run"


def _from_rerun(account: Account) -> tuple[str, str]:
    from conformance.explaining.rerunning import room
    from conformance.scripting.script import scripts_of
    from conformance.scripting.trying import shown

    text, shows = shown(scripts_of(account, partial(room, account)))
    return text, f"the script was run here, and {'shows it' if shows else 'does NOT show it'}"


def _write(to: Path, text: str) -> None:
    with writing(to, "the script"):
        to.write_text(text, encoding="utf-8")
