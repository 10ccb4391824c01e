"""An account as one JSON document: the members of the record, and beside them what they mean."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from conformance.deviations.ledger import shipped
from conformance.explaining.account import Account
from conformance.explaining.asked import asked_of
from conformance.explaining.owed import owed
from conformance.explaining.question import operands, question
from conformance.subjects.kinds import KERNEL, kind_of

MACHINE = ("path", "device_name", "torch", "driver")


def document(account: Account) -> dict[str, Any]:
    """Everything that is known of the case; "machine" says where it was seen, "source" in which report that is."""
    case = account.case
    asked: Mapping[str, Any] = {}
    if case is not None:
        asked = {
            "question": question(case, account.header["seed"]),
            "operands": operands(case, account.measured.get("ranges", {})),
            "owed": owed(account),
        }
    elif account.question is not None:
        asked = asked_of(account.question, account.line, account.header["seed"])
    return {
        **account.line,
        "case": account.id,
        "source": account.source,
        "ended": account.ended,
        "machine": machine(account),
        **asked,
        "known": known(account),
        "reproduce_with": reproduction(account),
    }


def machine(account: Account) -> dict[str, str]:
    """Where it was seen: the path, the device, and the versions of everything under the kernel."""
    said = {name: str(account.header[name]) for name in MACHINE if account.header.get(name)}
    facts = account.header["backends"].get(account.backend)
    return {**(facts if isinstance(facts, dict) else {}), **said}


def known(account: Account) -> str:
    """What the shipped ledger says of the deviation, if it is known."""
    entry = next((entry for entry in shipped() if entry.id == account.line.get("deviation")), None)
    return f"{entry.id}: {entry.reason} ({entry.link})" if entry else str(account.line.get("deviation", ""))


def reproduction(account: Account) -> list[str]:
    """Command lines that run the case again, and that make a script of it."""
    backend, case = shlex.quote(account.spec), shlex.quote(account.id)
    kind = kind_of(account.id)
    seed = account.header["seed"]
    more = f" --seed {seed}" if seed else ""
    run = f"conformance run {kind.option} {backend} --device {shlex.quote(account.device)}{more} --case {case}"
    source = f"--report {shlex.quote(account.source)}" if account.source else f"--device {account.device}{more}"
    explain = f"conformance explain {case} {kind.option} {backend} {source}"
    return [run, f"{explain} --script" if kind is KERNEL else explain]
