"""Trying cases on seeded faults, in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch

from cases import parse_case
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.execute import run_case
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
    for text in ids:
        case = parse_case(text)
        for name in names:
            if name in found:
                continue
            before = surroundings(where)
            record = run_case(Assignment.of(case, _backend(name, as_declared), platform), seed=0, device=where)
            # What some faults change must spoil no verdict but their own.
            put_back(before)
            if record.verdict == "failed":
                found[name] = Kill(record.reason, text)
                if len(found) == enough:
                    return found
    return found


@cache
def _backend(name: str, as_declared: bool) -> Backend:
    """The backend called ``name``, with the state that earlier calls in this process left it in."""
    build = declared(name) if as_declared else (FAULTS.get(name) or HONEST[name]).build
    return Backend(build(), spec=name)
