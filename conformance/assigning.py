"""Which cases each backend is given: those that have a sense to it, once each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from cases import Case
from cases.scenarios import PLAIN
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.capabilities.asking import asked_once
from conformance.contract import Absent, Refuse
from conformance.probe import Platform


def assigned(
    cases: Sequence[Case], backends: Sequence[Backend], platform: Platform, *, named: bool
) -> tuple[Assignment, ...]:
    """Every one of the ``cases`` for every backend; the backends of one case stand together, so inputs are built once.

    What is asked for though it is declined stands at the end. Cases that were ``named`` one by one are answered
    whatever they mean to the kernel.
    """
    everything = (Assignment.of(case, backend, platform) for case in cases for backend in backends)
    return asked_once(everything if named else _without_repeats(filter(_has_sense, everything)))


def _has_sense(assignment: Assignment) -> bool:
    """Whether there is anything to try, or to say: what a kernel has never heard of says nothing about it.

    That are recipes that it does not name, and the rules of an API that is not its own.
    """
    case = assignment.case
    is_anothers = case.scenario.kind == "rule" and isinstance(assignment.promise, Absent)
    return case.problem.recipe in assignment.backend.recipes and not is_anothers


def _without_repeats(assignments: Iterable[Assignment]) -> Iterator[Assignment]:
    """Drop what would only be refused again: a refusal depends on the problem, not on values, layouts or repeats.

    What is compared with the refusal is no repeat of it, and stays once for each problem.
    """
    refused: set[tuple[object, ...]] = set()
    for assignment in assignments:
        scenario = assignment.case.scenario
        kept = scenario if scenario.beside_plain else PLAIN
        key = assignment.backend.name, assignment.case.problem, kept.prefix
        if not isinstance(assignment.promise, Refuse) or scenario.refuses_by_itself:
            # A call that is taken for another recipe is one plain call a case: nothing else of it is ours to judge.
            if not assignment.is_detour or scenario is PLAIN:
                yield assignment
        elif key not in refused:
            refused.add(key)
            yield replace(assignment, case=replace(assignment.case, scenario=kept))
