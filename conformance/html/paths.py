"""Which paths a run exercised, on real hardware, and why not the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conformance.coverage import DID
from conformance.html.inert import member
from conformance.html.looks import VERDICTS, WRONG, Look
from conformance.probe import PATHS
from conformance.records import Line

NAMED = 3
"""Backends that a sentence names."""


@dataclass(frozen=True)
class Exercise:
    """One path of `PATHS`: what happened there, with a sentence."""

    path: str
    state: str
    sentence: str
    look: Look
    required: bool


def exercises(header: Line, cases: Sequence[Line]) -> list[Exercise]:
    """Every path, in the order of `PATHS`."""
    required = member(header, "require", list[str]())
    return [
        Exercise(path, *_state(path, header, [line for line in cases if line.get("path") == path]), path in required)
        for path in PATHS
    ]


def _state(path: str, header: Line, cases: Sequence[Line]) -> tuple[str, str, Look]:
    executed = [line for line in cases if line["verdict"] in DID]
    real = [line for line in executed if not line.get("model")]
    models = _by([line for line in executed if line.get("model")])
    also = f"; what {models} computed is a model of other hardware" if models else ""
    if not real:
        look = VERDICTS["not-run" if path in member(header, "require", list[str]()) else "unsupported"]
        return "not exercised", _why_not(path, header) + also, look
    computed = [line for line in real if line.get("computed")]
    refused = [line for line in real if line["verdict"] == "rejected"]
    wrong = sum(line["verdict"] in WRONG for line in real)
    told = [f"{len(x):,} {what} by {_by(x)}" for x, what in ((computed, "computed"), (refused, "refused")) if x]
    state = "computed there" if computed else "refused there" if refused else "called there"
    good = VERDICTS["passed" if computed else "rejected"]
    sentence = "; ".join(told) or f"{len(real):,} called, none computed"
    return state + (f", {wrong:,} wrong" if wrong else ""), sentence + also, VERDICTS["failed"] if wrong else good


def _by(cases: Sequence[Line]) -> str:
    names = list(dict.fromkeys(line["backend"] for line in cases))
    if len(names) > NAMED:
        return f"{len(names)} backends"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def _why_not(path: str, header: Line) -> str:
    if header["path"] == path:
        return "this run was there, and no kernel was called"
    return f"needs {PATHS[path].needs}; this run was on {header['path']}"
