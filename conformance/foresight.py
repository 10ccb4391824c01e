"""What will become of a product, before anybody runs it: by the table, by the ledger and by upstream's choice."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from cases import EXAMPLE, Problem
from conformance.assignment import Assignment
from conformance.backends.registry import load_backend
from conformance.contract import Absent, Compute, Promise, Refuse
from conformance.contract.row import APIS, Api
from conformance.deviations.entry import Machine
from conformance.deviations.ledger import deviation_of
from conformance.errors import UsageError
from conformance.upstream.candidates import TORCH, candidates_for
from conformance.upstream.selection import NoKernelFitsError, select
from conformance.upstream.verdicts import accepted_but_wrong

Outcome = Literal["right", "wrong", "refused", "right or refused", "absent"]


@dataclass(frozen=True)
class Prospect:
    """What one API will do with a product: ``outcome``, and ``why`` in a sentence."""

    api: Api
    outcome: Outcome
    why: str


def parse_shape(text: str) -> Problem:
    """The problem with sizes ``M,N,K``. Raises UsageError that shows how they are written."""
    if not re.fullmatch(r"\d+,[1-9]\d*,[1-9]\d*", text):
        raise UsageError(f"a shape is M,N,K in whole numbers, N and K from 1, such as 84,7168,2304; got {text!r}")
    m, n, k = map(int, text.split(","))
    return Problem(m, n, k)


def prospects(problem: Problem, machine: Machine) -> tuple[Prospect, ...]:
    """What each API of torch will do with ``problem`` on ``machine``."""
    return tuple(_prospect(api, problem, machine) for api in APIS)


def _prospect(api: Api, problem: Problem, machine: Machine) -> Prospect:
    backend = load_backend(f"torch-{api}")
    promise = Assignment.of(replace(EXAMPLE, problem=problem), backend, machine.platform).promise
    known = deviation_of(problem, backend.name, machine)
    if known is not None and isinstance(promise, Compute):
        return Prospect(api, "wrong", f"{known.observed}: {known.reason} ({known.link})")
    return Prospect(api, *_told(promise, problem))


def _told(promise: Promise, problem: Problem) -> tuple[Outcome, str]:
    match promise:
        case Compute(via=via):
            return "right", f"taken for {via}" if via else ""
        case Refuse():
            return "refused", str(promise)
        case Absent(reason=reason):
            return "absent", reason
        case _:
            return "right or refused", _open_question(problem)


def _open_question(problem: Problem) -> str:
    if not problem.is_aligned:
        return "N and K that are no multiples of 16 are refused wherever we looked, and nobody promises it"
    if problem.m == 0:
        return "whether an empty product is refused is nowhere promised"
    return "nothing is known of this platform"


def upstream_choice(problem: Problem, machine: Machine) -> dict[str, object]:
    """Which kernel vLLM chooses here where nothing else is installed, and what its torch kernel would do if asked for.

    ``chosen`` is empty where nothing fits; ``passed_over`` has the reasons; ``forced`` says what becomes of the torch
    kernel under ``--linear-backend torch``: empty where it is right or not taken.
    """
    try:
        selection = select(candidates_for(machine.platform), machine.platform, problem)
        chosen, passed_over = selection.chosen, selection.passed_over
    except NoKernelFitsError as nothing:
        chosen, passed_over = "", nothing.passed_over
    return {
        "chosen": chosen,
        "passed_over": dict(passed_over),
        "torch_kernel": TORCH.name,
        "forced": accepted_but_wrong(machine.platform, problem) or "",
    }
