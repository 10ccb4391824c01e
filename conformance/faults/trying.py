"""Trying cases on seeded faults, in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from cases.case import parse_product
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.execute import judgement_of
from conformance.faults import FAULTS, HONEST
from conformance.faults.declared import declared
from conformance.probe import probe
from conformance.scenarios.surroundings import put_back, surroundings


@dataclass(frozen=True)
class Kill:
    """How a check failed a kernel: for which reason, and with which case first."""

    reason: str
    case: str


def kills(
    ids: Sequence[str], names: Sequence[str], device: str, *, as_declared: bool = False, enough: int | None = None
) -> dict[str, Kill]:
    """The kernels of ``names`` that a case of ``ids`` fails, each with the first such case.

    They declare no arithmetic, or SM90 where ``as_declared``, and then compute in it wherever they are not wrong. After
    so many that are ``enough`` no more are tried.
    """
    found: dict[str, Kill] = {}
    where = torch.device(device)
    platform = probe(where)
    # One object for all cases, so that what a kernel keeps can show, and a new one for every check, so that which check
    # shows it does not depend on what this process did before.
    backends = {name: _backend(name, as_declared) for name in names}
    for text in ids:
        case = parse_product(text)
        for name in names:
            if name in found:
                continue
            before = surroundings(where)
            judgement = judgement_of(Assignment.of(case, backends[name], platform), seed=0, device=where)
            # What some faults change must spoil no verdict but their own.
            put_back(before)
            if judgement.verdict == "failed":
                found[name] = Kill(judgement.reason, text)
                if len(found) == enough:
                    return found
    return found


def _backend(name: str, as_declared: bool) -> Backend:
    build = declared(name) if as_declared else (FAULTS.get(name) or HONEST[name]).build
    return Backend(build(), spec=name)
