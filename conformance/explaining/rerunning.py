"""A case once more, here: its line as a run would write it, and what only a rerun can tell."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from cases import Case
from cases.operands import Operands, build_operands
from conformance.assignment import Assignment
from conformance.diagnosis.finding import diagnose
from conformance.evidence import Evidence, evidence_for
from conformance.execute import run_known
from conformance.explaining.account import Account
from conformance.generated import Drawing, run_batch
from conformance.heading import about
from conformance.records import Line, header
from conformance.request import Request
from conformance.session import Session
from conformance.subjects.task import Task
from reference import exact_block_matmul
from reference.formats import decode


def rerun(request: Request) -> list[Account]:
    """Run every case of ``request`` on every backend; batches of generated cases come down to their smallest failure.

    Raises UsageError for a wrong request.
    """
    session = Session.open(request)
    of_run = header(about(session))
    cases = [
        _of_task(piece, session, of_run) if isinstance(piece, Task) else _of_case(piece, session, of_run)
        for piece in session.pieces
    ]
    return cases + [_of_batch(drawing, session, of_run) for drawing in session.drawings]


def _of_case(assignment: Assignment, session: Session, of_run: Line) -> Account:
    run = run_known(assignment, session.ledger, seed=session.seed, device=session.device)
    line = run.record.to_json()
    measured: dict[str, Any] = {"convention": assignment.backend.convention}
    if run.record.input_digest:
        evidence = evidence_for(assignment.case, seed=session.seed, device=session.device)
        measured["ranges"] = ranges(evidence.operands)
        if run.output is not None and run.record.measured is not None:
            found = diagnose(assignment, evidence, run.output, run.record.verdict)
            line |= {"finding": found.sentence, **({"fault": found.fault} if found.fault else {})}
    return Account(of_run, line, measured=measured)


def _of_task(task: Task, session: Session, of_run: Line) -> Account:
    run = run_known(task, session.ledger, seed=session.seed, device=session.device)
    return Account(of_run, run.record.to_json())


def _of_batch(drawing: Drawing, session: Session, of_run: Line) -> Account:
    record = run_batch(drawing, session.ledger, seed=session.seed, device=session.device)
    if not record.reproduce:
        return Account(of_run, record.to_json())
    (case,) = Request(cases=(record.reproduce,)).chosen_cases()
    account = _of_case(Assignment.of(case, drawing.backend, drawing.platform), session, of_run)
    batch = {"id": record.id, "check": record.check, "examples": record.examples, "reproduce": record.reproduce}
    return Account(of_run, {**account.line, **batch}, measured=account.measured)


def ranges(operands: Operands) -> dict[str, str]:
    """The least and the greatest finite value of each operand, and how many are not finite."""
    names = ("A", "B", "As", "Bs")
    return {name: _range(x) for name, x in zip(names, operands.tensors, strict=True)}


def _range(x: Tensor) -> str:
    values = decode(x) if x.element_size() == 1 else x
    finite = values[values.isfinite()]
    span = f"{finite.min().item():.6g} to {finite.max().item():.6g}" if finite.numel() else "none"
    others = values.numel() - finite.numel()
    return f"{span}, {others} not finite" if others else span


def room(account: Account, case: Case) -> float:
    """The share of all absolute products within which every right result of ``case`` lies, by the suite's own bound."""
    device = torch.device(account.device)
    operands = build_operands(case, seed=int(account.header["seed"]), device=device)
    expectation = Evidence(case.problem, operands).expectation(None)
    products = exact_block_matmul(*_magnitudes(operands), recipe=case.problem.recipe)
    share = (expectation.error / products)[products > 0]
    # Rounded up, so that two digits never say less.
    return math.ceil(1e4 * share.max().item() * 1.01) / 1e4 if share.numel() else 0.0


def _magnitudes(operands: Operands) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    a, b, sa, sb = operands.tensors
    codes = ((x.view(torch.uint8) & 0x7F).view(x.dtype) for x in (a, b))
    return (*codes, sa.abs(), sb.abs())  # type: ignore[return-value]
