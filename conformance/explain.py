"""`conformance explain`: one case again, with what was asked, what came, and what that is."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor

from cases import Case
from conformance.assignment import Assignment
from conformance.contract import Compute
from conformance.diagnosis.naming import Naming, name_arithmetic, name_fault
from conformance.diagnosis.reading import honest
from conformance.diagnosis.whole import name_whole
from conformance.evidence import Evidence, evidence_for
from conformance.execute import decline
from conformance.measure import out_of_bound, wrong_exactly
from conformance.presentation import present
from conformance.request import Request
from conformance.scenarios import perform
from conformance.session import Session
from conformance.strips import needs_strips
from conformance.trial import Trial

UNEXPLAINED = "unexplained: no single fault of the catalogue and no published arithmetic gives these elements"
UNEXPLAINED_WHOLE = "unexplained: no single fault of the catalogue gives these elements"


def explain(request: Request) -> list[dict[str, Any]]:
    """Run every case of ``request`` on every backend and say what each result is; one JSON object a result."""
    session = Session.open(request)
    return [_explain(assignment, session) for assignment in session.assignments]


def _explain(assignment: Assignment, session: Session) -> dict[str, Any]:
    platform = session.platform
    about = {"device_name": platform.device_name, "torch": platform.torch_version}
    declined = decline(assignment, session.device)
    if declined is not None:
        return {**assignment.record(declined).to_json(), **about}
    evidence = evidence_for(assignment.case, seed=session.seed, device=session.device)
    found = perform(Trial(assignment, evidence))
    document = {**assignment.record(found.judgement, input_digest=evidence.operands.digest).to_json(), **about}
    if found.output is not None and found.judgement.measured is not None:
        document["finding"] = finding(assignment, evidence, found.output, found.judgement.verdict)
    return document


def finding(assignment: Assignment, evidence: Evidence, out: Tensor, verdict: str) -> str:
    """What ``out`` is, in one sentence: right, a named fault, another arithmetic, or honestly unexplained."""
    if needs_strips(assignment.case):
        return "too large to be explained; look at a smaller case of the same kind"
    problem, claim = assignment.case.problem, assignment.claim
    if problem.has_whole_scales:
        wrong = wrong_elements(assignment.case, evidence, out)
        if not wrong.any():
            return "right"
        named = name_whole(present(evidence.operands), problem, out, wrong)
        return f"{named.sentence() if named else UNEXPLAINED_WHOLE}; {_place(wrong)}"
    presented = present(evidence.operands)
    arithmetic = name_arithmetic(honest(presented, problem), out, problem.recipe)
    if verdict == "passed" and isinstance(assignment.promise, Compute):
        return f"right; {_arithmetic(arithmetic)}"
    wrong = wrong_elements(assignment.case, evidence, out)
    if not wrong.any():
        return f"within the bound; {_arithmetic(arithmetic)}"
    if arithmetic is not None:
        return f"{_arithmetic(arithmetic)}, which is not right here; {_place(wrong)}"
    named = name_fault(presented, problem, out, wrong, claim.arithmetic if claim else None)
    return f"{named.sentence()}; {_place(wrong)}" if named else f"{UNEXPLAINED}; {_place(wrong)}"


def _arithmetic(named: Naming | None) -> str:
    if named is None:
        return "no published arithmetic gives every bit"
    return f"every bit is what {named.arithmetic} gives, with {named.plan} K blocks a chunk"


def wrong_elements(case: Case, evidence: Evidence, out: Tensor) -> Tensor:
    """Mask [M, N] of the elements that no right kernel returns."""
    if case.tier == "exact":
        return wrong_exactly(out, evidence.exact, any_special=evidence.has_infinities)
    return out_of_bound(out, evidence.expectation(None))


def _place(wrong: Tensor) -> str:
    """Where wrong elements lie, from the most regular description to the least."""
    rows, cols = wrong.any(1), wrong.any(0)
    if bool(wrong.all()):
        return "every element is wrong"
    where = [_span("row", rows), _span("column", cols)]
    return f"they lie in {' and '.join(where)}"


def _span(what: str, hit: Tensor) -> str:
    index = torch.nonzero(hit).flatten().tolist()
    if len(index) == hit.numel():
        return f"all {what}s"
    if len(index) == 1:
        return f"{what} {index[0]}"
    dense = index[-1] - index[0] + 1 == len(index)
    return f"{what}s {index[0]} to {index[-1]}" if dense else f"{len(index)} {what}s from {index[0]} to {index[-1]}"


def render(documents: list[dict[str, Any]]) -> None:
    """Print the findings for people."""
    for document in documents:
        lines = [
            f"{document['backend']}  {document['id']}",
            f"  on       {document['path']} ({document['device_name']}), torch {document['torch']}",
            f"  owed     {document.get('expected', '')}",
            f"  verdict  {document['verdict']} {document['reason']}".rstrip(),
            f"  detail   {document['detail']}" if document.get("detail") else "",
            f"  finding  {document['finding']}" if document.get("finding") else "",
            *(
                f"    ({e['row']}, {e['column']}) {e['actual']} for {e['expected']}"
                for e in document.get("first_wrong", ())
            ),
        ]
        sys.stdout.write("\n".join(line for line in lines if line) + "\n")
