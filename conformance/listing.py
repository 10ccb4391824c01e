"""The planned cases, for people and for scripts."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from typing import Any

from cases import AnyCase
from cases.plan import BLIND, section_of
from cases.sections import SECTIONS
from conformance.errors import UsageError
from conformance.request import Request

WORD = re.compile(r"[\w.:+\-\[\]\\/]+")


def planned(
    request: Request, keyword: str | None = None, *, on: str | None = None, torch_version: str | None = None
) -> dict[str, Any]:
    """The plan as a JSON document. With backends, also what each case would be owed on this machine's device.

    ``on`` (``cuda/sm90``) and ``torch_version`` describe another machine, and are nothing without backends.
    """
    request.check()
    subjects = request.backends + request.quantisers + request.linears
    if (on or torch_version) and not subjects:
        raise UsageError("--on and --torch say what backends owe on that platform: name one with --backend")
    everything: tuple[AnyCase, ...] = (
        *request.chosen_cases(),
        *request.chosen_quantisations(),
        *request.chosen_linears(),
    )
    chosen = [case for case in everything if matches(keyword, words_of(case))]
    cases = [_entry(case) for case in chosen]
    if subjects:
        owed = _owed(request, on, torch_version)
        cases = [{**case, "expected": owed.get(str(case["id"]), {})} for case in cases]
    batches = [batch.id for batch in request.chosen_batches() if matches(keyword, (batch.id,))]
    return {
        "profile": request.profile,
        "cannot_see": BLIND[request.profile],
        "sections": {name: section.what for name, section in SECTIONS.items()} | _of_others(request),
        "count": len(cases),
        "cases": cases,
        "generated": batches,
    }


def _of_others(request: Request) -> dict[str, str]:
    """The sections of the cases that are for no kernels."""
    sections = {
        "quantisers": "scales and codes of quantisers: values, layouts, special values, blocks of weights",
        "linears": "x quantised, multiplied, a bias added, the result cast",
    }
    return {name: what for name, what in sections.items() if getattr(request, name)}


def _entry(case: AnyCase) -> dict[str, Any]:
    return {
        "id": case.id,
        "section": section_of(case),
        "check": case.check,
        "tier": case.tier,
        "marks": list(case.marks),
        "macs": case.macs,
        "catches": case.catches,
    }


def words_of(case: AnyCase) -> tuple[str, ...]:
    """What -k is matched with: the id, the section and the markers, as in the pytest session."""
    return (case.id, section_of(case), *case.marks)


def matches(keyword: str | None, words: Iterable[str]) -> bool:
    """Whether pytest's ``-k keyword`` selects an item with these ``words``; UsageError for a wrong expression."""
    if not keyword:
        return True
    known = [word.lower() for word in words]

    def holds(match: re.Match[str]) -> str:
        word = match[0].lower()
        return word if word in ("and", "or", "not") else str(any(word in other for other in known))

    expression = WORD.sub(holds, keyword)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(eval(expression, {"__builtins__": {}}))  # only and, or, not, True, False and brackets are left
    except (SyntaxError, TypeError, NameError, ValueError, RecursionError, MemoryError):
        raise UsageError(f"-k takes words joined by and, or, not and brackets, got {keyword!r}") from None


def _owed(request: Request, on: str | None, torch_version: str | None) -> dict[str, dict[str, str]]:
    from conformance.contract import describe_promise
    from conformance.session import Session

    session = Session.describe(request, on, torch_version) if on or torch_version else Session.open(request)
    owed: dict[str, dict[str, str]] = {}
    for assignment in session.pieces:
        promise = describe_promise(assignment.promise)
        owed.setdefault(assignment.case.id, {})[assignment.backend.name] = promise
    return owed
