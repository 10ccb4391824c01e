"""`conformance explain`: one case again, with what was asked, what came, and what that is."""

from __future__ import annotations

import sys
from typing import Any

from conformance.assignment import Assignment
from conformance.diagnosis.finding import diagnose
from conformance.evidence import evidence_for
from conformance.execute import decline
from conformance.request import Request
from conformance.scenarios import perform
from conformance.session import Session
from conformance.trial import Trial


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
        document["finding"] = diagnose(assignment, evidence, found.output, found.judgement.verdict).sentence
    return document


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
