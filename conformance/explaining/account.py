"""What is known of one case on one backend: its line in a report, and the header of the run. Needs no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from cases import AnyCase, Case, parse_case
from conformance.contract.row import Api
from conformance.errors import UsageError, unknown
from conformance.probe import Platform
from conformance.records import Line, read_report

APIS: dict[str, Api] = {"torch-v1": "v1", "torch-v2": "v2"}


@dataclass(frozen=True)
class Account:
    """One ``line`` of a run with its ``header``; ``source`` is the report that it was read from, "" for a rerun.

    A run that did not come to its end is not ``ended``. ``measured`` is what only a rerun knows, by name: the operands'
    ranges, among others.
    """

    header: Line
    line: Line
    source: str = ""
    ended: bool = True
    measured: dict[str, Any] = field(default_factory=dict)

    @property
    def backend(self) -> str:
        """The backend's name."""
        return str(self.line["backend"])

    @property
    def spec(self) -> str:
        """How the backend is named on a command line: by its name, unless the header knows better."""
        specs = self.header.get("specs")
        return str(specs.get(self.backend, self.backend)) if isinstance(specs, dict) else self.backend

    @property
    def names(self) -> set[str]:
        """What the backend may be asked for as."""
        return {self.backend, self.spec, self.spec.rpartition(":")[0]}

    @property
    def api(self) -> Api | None:
        """Torch's own API that the backend is, or None."""
        return APIS.get(self.backend)

    @property
    def id(self) -> str:
        """The id of the case that was judged: of a batch of generated cases, the smallest failing one."""
        return str(self.line.get("reproduce") or self.line["id"])

    @cached_property
    def case(self) -> Case | None:
        """The product, or None where it is none, or unknown: a batch that passed, or a case of another suite."""
        return self.question if isinstance(self.question, Case) else None

    @cached_property
    def question(self) -> AnyCase | None:
        """The same, whatever kind of subject the case is for."""
        try:
            return parse_case(self.id)
        except ValueError:
            return None

    @property
    def platform(self) -> Platform:
        """The machine, as far as the header says."""
        said = [str(self.header.get(name, "")) for name in ("platform", "arch", "torch", "runtime", "device_name")]
        return Platform(*said)

    @property
    def device(self) -> str:
        """The type of the device."""
        return str(self.header.get("device", "")).partition(":")[0] or "cpu"


def accounts_in(path: Path, ids: Sequence[str], backends: Sequence[str] = ()) -> list[Account]:
    """What the report ``path`` (a file or its folder) says of the cases ``ids``, on all backends or those named.

    A backend is named as it was for the run, by its file alone, or as it calls itself; a case by its id, be it that a
    batch of generated cases failed at it. Raises UsageError for a report that cannot be read, and for an id or a
    backend that is not in it, with the nearest one that is.
    """
    header, lines, footer = read_report(path)
    everything = [Account(header, line, str(path), footer is not None) for line in lines]
    for name in backends:
        if not any(name in account.names for account in everything):
            known = [account.backend for account in everything]
            raise unknown(f"backend of the report {str(path)!r}", name, dict.fromkeys(known))
    chosen = [x for x in everything if not backends or x.names & set(backends)]
    return [account for text in dict.fromkeys(ids) for account in _named(text, chosen, path)]


def _named(text: str, accounts: Sequence[Account], path: Path) -> list[Account]:
    found = [account for account in accounts if text in (account.line["id"], account.id)]
    if found:
        return found
    if not accounts:
        raise UsageError(f"the report {str(path)!r} has no cases: its run did not come to any")
    ids = dict.fromkeys(str(account.line["id"]) for account in accounts)
    raise unknown(f"case of the report {str(path)!r}", text, ids)
