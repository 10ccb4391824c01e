"""One parametrised item a planned case, and the record that it ends with.

Loaded by a process too that hands cases to workers and collects none, so that what needs torch is imported where it is
used: workers start before that.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from conformance.plugin import RECORD, session_of

if TYPE_CHECKING:
    from conformance.assignment import Assignment
    from conformance.generated import Drawing
    from conformance.planned import PlannedCase
    from conformance.subjects.task import Task
    from conformance.verdict import CaseRecord


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise a test over the planned cases."""
    if "assignment" in metafunc.fixturenames:
        assignments = session_of(metafunc.config).shared_assignments
        metafunc.parametrize("assignment", [_item(a) for a in assignments], scope="function")
    if "drawing" in metafunc.fixturenames:
        drawings = session_of(metafunc.config).shared_drawings
        metafunc.parametrize("drawing", [_batch(d) for d in drawings], scope="function")


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    """Drop what pytest puts in the place of an empty plan: a skipped item that is no case would stay unexplained."""
    found = yield
    return [item for item in found if not _is_placeholder(item)] if isinstance(found, list) else found


def _is_placeholder(item: pytest.Item) -> bool:
    from conformance.generated import Drawing
    from conformance.planned import PlannedCase

    planned = {"assignment": PlannedCase, "drawing": Drawing}
    parameters = getattr(item, "callspec", None) and item.callspec.params  # type: ignore[attr-defined]
    return any(not isinstance(value, planned.get(name, object)) for name, value in (parameters or {}).items())


def _item(assignment: PlannedCase) -> pytest.param:  # type: ignore[valid-type]
    return pytest.param(assignment, id=f"{assignment.backend.name}/{assignment.case.id}", marks=_marks(assignment))


def _batch(drawing: Drawing) -> pytest.param:  # type: ignore[valid-type]
    marks = [getattr(pytest.mark, name) for name in (drawing.platform.path, "numerics", "generated")]
    return pytest.param(drawing, id=f"{drawing.backend.name}/{drawing.batch.id}", marks=marks)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let -k find a case by the section of the plan that it belongs to."""
    from cases.plan import section_of
    from conformance.planned import PlannedCase

    assignment = getattr(item, "callspec", None) and item.callspec.params.get("assignment")  # type: ignore[attr-defined]
    if isinstance(assignment, PlannedCase):
        item.extra_keyword_matches.add(section_of(assignment.case))


def _marks(assignment: PlannedCase) -> Sequence[pytest.MarkDecorator]:
    from conformance.contract import Compute, RightOrRefused

    products = isinstance(assignment.promise, Compute | RightOrRefused)
    names = (assignment.platform.path, "numerics" if products else "contract", *assignment.case.marks)
    return [getattr(pytest.mark, name) for name in names]


@pytest.fixture
def record(assignment: Assignment | Task, request: pytest.FixtureRequest) -> CaseRecord:
    """The case, run and judged. An exception in here is the harness's own fault, so pytest shows it as an error."""
    from conformance.execute import run_known
    from conformance.isolation.guard import believed

    session = session_of(request.config)
    with believed(session.device, alone=assignment.needs_room):
        record = run_known(assignment, session.ledger, seed=session.seed, device=session.device).record
    request.node.stash[RECORD] = record.to_json()
    return record


@pytest.fixture
def batch_record(drawing: Drawing, request: pytest.FixtureRequest) -> CaseRecord:
    """A batch of generated cases, run, judged and shrunk."""
    from conformance.generated import run_batch
    from conformance.isolation.guard import believed

    session = session_of(request.config)
    with believed(session.device):
        record = run_batch(drawing, session.ledger, seed=session.seed, device=session.device)
    request.node.stash[RECORD] = record.to_json()
    return record
