"""The planned cases, for people and for scripts."""

from __future__ import annotations

from typing import Any

from conformance.request import Request


def planned(backends: tuple[str, ...], profile: str) -> dict[str, Any]:
    """The plan as a JSON document. With ``backends``, also what each case would be owed on this machine's device."""
    request = Request(backends=backends, profile=profile)
    request.check()
    cases = [
        {"id": case.id, "family": case.family.name, "tier": case.family.tier, "macs": case.problem.macs}
        for case in request.chosen_cases()
    ]
    if backends:
        owed = _owed(request)
        cases = [{**case, "expected": owed[str(case["id"])]} for case in cases]
    return {"profile": profile, "count": len(cases), "cases": cases}


def _owed(request: Request) -> dict[str, dict[str, str]]:
    from conformance.assignment import describe_promise
    from conformance.session import Session

    owed: dict[str, dict[str, str]] = {}
    for assignment in Session.open(request).assignments:
        promise = describe_promise(assignment.promise)
        owed.setdefault(assignment.case.id, {})[assignment.backend.name] = promise
    return owed
