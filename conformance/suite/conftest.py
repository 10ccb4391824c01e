"""One parametrised item a planned case, and the record that it ends with."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conformance.assignment import Assignment
from conformance.capabilities import Compute, RightOrRefused
from conformance.execute import run_case
from conformance.plugin import RECORD, session_of
from conformance.verdict import CaseRecord


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise a test over the planned cases."""
    if "assignment" in metafunc.fixturenames:
        assignments = session_of(metafunc.config).assignments
        metafunc.parametrize("assignment", [_item(a) for a in assignments], scope="function")


def _item(assignment: Assignment) -> pytest.param:  # type: ignore[valid-type]
    return pytest.param(assignment, id=f"{assignment.backend.name}/{assignment.case.id}", marks=_marks(assignment))


def _marks(assignment: Assignment) -> Sequence[pytest.MarkDecorator]:
    products = isinstance(assignment.promise, Compute | RightOrRefused)
    names = (assignment.platform.path, "numerics" if products else "contract", *assignment.case.marks)
    return [getattr(pytest.mark, name) for name in names]


@pytest.fixture
def record(assignment: Assignment, request: pytest.FixtureRequest) -> CaseRecord:
    """The case, run and judged. An exception in here is the harness's own fault, so pytest shows it as an error."""
    session = session_of(request.config)
    record = run_case(assignment, seed=session.seed, device=session.device)
    request.node.stash[RECORD] = record.to_json()
    return record
