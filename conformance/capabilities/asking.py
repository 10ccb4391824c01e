"""What a kernel says that it does not have: not tried, but asked for once of each kind. Refused cleanly, or right.

Which case that is depends on what is planned and declared alone, and on no order, so that every worker, every shard and
every machine agree. It is the one that tells most and costs least, and stands at the end of the plan: what a kernel
breaks where it should have refused spoils nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cases import Case, Problem
from cases.scenarios import COMPILE, OUT, PLAIN, SCENARIOS, Scenario
from conformance.capabilities.table import LARGEST, TABLE, ZERO_SIZES
from conformance.contract import Declined, RightOrRefused

if TYPE_CHECKING:
    from conformance.assignment import Assignment
    from conformance.backends.protocol import Backend
    from conformance.tiers import Judgement

CHEAP = 1 << 28
"""Multiply-accumulates of the largest problem that is asked for: about two seconds of two CPU cores."""
KINDS = 8
"""Reasons of a backend's own `can_implement` that are asked about: there are as many as it has texts."""
OWN = "can_implement"
TELLING = "tagged-integers"
"""The family that shows most."""
NUMBER = re.compile(r"\d+")


def declined_problem(problem: Problem, backend: Backend) -> Declined | None:
    """Why ``problem`` is none of the kernel's by its own word, or None: its declarations first, then its method."""
    excluded = backend.capabilities.exclusions(problem)
    if excluded:
        said = " and ".join(each.said for each in excluded)
        return Declined(f"{backend.name} declares {said}", tuple(each.kind for each in excluded))
    implemented, reason = backend.can_implement(problem)
    # Texts that differ in numbers alone are one reason.
    return None if implemented else Declined(f"{backend.name}: {reason}", (f"{OWN} {NUMBER.sub('#', str(reason))}",))


def declined_scenario(scenario: Scenario, backend: Backend) -> Declined | None:
    """Why the kernel is not asked for ``scenario`` by its own word, or None."""
    row = TABLE.get(scenario.capability)
    declared = backend.capabilities.get(scenario.capability)
    if row is None or declared or (declared is None and (row.name != OUT or backend.convention.names_out)):
        return None
    reason = f"{backend.name} declares no {row.words}"
    return Declined(reason, (f"{row.name} {scenario.prefix}",))


def asked_once(assignments: Iterable[Assignment]) -> tuple[Assignment, ...]:
    """The ``assignments``; of each kind of what a kernel declines, one is asked for, at the end.

    Torch's own APIs owe the contract's word, whatever upstream says of them, and models are nobody's product.
    """
    planned = tuple(assignments)
    chosen = set(_representatives(planned).values())
    kept = [each for place, each in enumerate(planned) if place not in chosen]
    return (*kept, *(_asked(planned[place]) for place in sorted(chosen)))


def _asked(assignment: Assignment) -> Assignment:
    assert isinstance(assignment.promise, Declined)
    return replace(assignment, promise=RightOrRefused(declined=assignment.promise))


def _representatives(planned: Sequence[Assignment]) -> Mapping[tuple[str, str], int]:
    """By backend and kind, the place in the plan of the case that is asked for."""
    chosen: dict[tuple[str, str], tuple[Any, ...]] = {}
    for place, assignment in enumerate(planned):
        backend, promise = assignment.backend, assignment.promise
        kinds = promise.kinds if isinstance(promise, Declined) and not (backend.api or backend.is_model) else ()
        for kind in kinds:
            if _is_askable(assignment, kind):
                key, rank = (backend.name, kind), (*_rank(assignment.case, kinds, kind), assignment.case.id, place)
                chosen[key] = min(chosen.get(key, rank), rank)
    return _bounded({key: rank[-1] for key, rank in chosen.items()})


def _is_askable(assignment: Assignment, kind: str) -> bool:
    """Whether a case asks for nothing but what is declined, is judged by its exact values, and costs little."""
    case, (name, _, what) = assignment.case, kind.partition(" ")
    if name in TABLE and what in SCENARIOS:
        asks = case.scenario.prefix == what and _can_be_asked(case.scenario, assignment.backend)
    else:
        asks = case.scenario is PLAIN and (case.problem.m > 0 or name == ZERO_SIZES)
    return asks and case.tier == "exact" and case.problem.macs <= CHEAP


def _can_be_asked(scenario: Scenario, backend: Backend) -> bool:
    """Whether a refusal could come: without an `out` there is nothing to call, and who checks no operands reads on.

    What a compiler takes is no quick question.
    """
    if scenario.capability == OUT:
        return backend.convention.names_out
    return TABLE[scenario.capability].refuses and (scenario.capability != COMPILE or scenario.beside_plain)


def _rank(case: Case, kinds: tuple[str, ...], kind: str) -> tuple[int, ...]:
    """The less the better: other reasons to decline, how far beyond a limit, what a result cannot tell, cost."""
    problem = case.problem
    capability, _, axis = kind.partition(" ")
    beyond = getattr(problem, axis) if capability == LARGEST else 0
    blind = min(problem.m, problem.n_blocks, problem.k_blocks) < 2
    return len(kinds), beyond, blind, case.family.name != TELLING, problem.macs


def _bounded(chosen: dict[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """``chosen``, with at most `KINDS` texts of each backend's `can_implement`: the first ones of the plan."""
    own: dict[str, list[tuple[str, str]]] = {}
    for key in sorted(chosen, key=chosen.__getitem__):
        if key[1].startswith(OWN):
            own.setdefault(key[0], []).append(key)
    left_out = {key for keys in own.values() for key in keys[KINDS:]}
    return {key: place for key, place in chosen.items() if key not in left_out}


def settled(judgement: Judgement, declined: Declined | None) -> Judgement:
    """What a ``judgement`` comes to where the kernel has ``declined`` beforehand.

    Memory that it changed keeps a reason of its own: that is no wrong result, and never a matter of declarations.
    """
    if declined and judgement.verdict == "passed":
        return replace(judgement, detail=f"works, though {declined.reason}")
    if declined and judgement.verdict == "failed" and judgement.reason != "memory-changed":
        said = f"{declined.reason}, and then {_told(judgement)}"
        return replace(judgement, reason="wrong-where-undeclared", detail=said)
    return judgement


def _told(judgement: Judgement) -> str:
    return f"{judgement.reason}: {judgement.detail}" if judgement.detail else str(judgement.reason)
