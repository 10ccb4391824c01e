"""The call inside torch.compile."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import torch

from cases.scenarios import COMPILE
from conformance.backends.protocol import Product
from conformance.calling import Outcome, watch
from conformance.foreign import error_line
from conformance.presentation import present
from conformance.scenarios.called import Called
from conformance.scenarios.contents import other
from conformance.scenarios.seen import Seen, odd, settle
from conformance.tiers import Judgement
from conformance.trial import Finding, Trial

COMPILER = "inductor"
WRAPPERS = ("torch._dynamo", "torch._inductor", "torch._functorch")
"""Where the exceptions come from that wrap another one."""
TRACING = "Dynamo failed to run FX node"
"""How the text of a RuntimeError begins that wraps another exception since torch 2.14."""


def compiled(trial: Trial, *, mode: str | None = None) -> Finding:
    """Compile the call; its results are those of the eager one, or both refuse."""
    reason = why_not(trial.device.type, COMPILER)
    if reason:
        return Finding(Judgement("unsupported", reason))
    first = Called.of(trial)
    if first.judgement.verdict == "failed":
        return Finding.of(first.judgement, first.outcome)
    with fresh_compiler():
        product = torch.compile(
            trial.assignment.backend.product(trial.problem), dynamic=False, backend=COMPILER, mode=mode
        )
        outcome = _call(trial, product)
        judgement = _refusal(first, outcome) or _compare(first, outcome, product)
    return Finding.of(judgement, first.outcome)


def _call(trial: Trial, product: Product) -> Outcome:
    presented = present(trial.operands)
    outcome = watch(lambda: product(*presented.tensors), presented, trial.problem)
    return replace(outcome, raised=innermost(outcome.raised)) if outcome.raised else outcome


def _refusal(first: Called, outcome: Outcome) -> Judgement | None:
    """The verdict where one of the two calls raises, or both do; None where there are two results to compare."""
    eager, raised = first.outcome.raised, outcome.raised
    if eager is None and raised is None:
        return None
    if raised is not None and type(raised) is type(eager) and not outcome.damage:
        return first.judgement
    judgement = first.trial.judge(outcome)
    said = f"eager {_did(eager)}, compiled it {_did(raised)}"
    if eager is not None and raised is not None and not first.trial.assignment.backend.capabilities.get(COMPILE):
        # Which words a compiler refuses with is nobody's promise.
        return Judgement("rejected", detail=said, holds=False)
    detail = f"{said}: {judgement.detail}" if judgement.reason not in ("", "raised") else said
    return replace(judgement, detail=detail, holds=False)


def _did(error: BaseException | None) -> str:
    return "computes" if error is None else f"raises {error_line(error)}"


def _compare(first: Called, outcome: Outcome, product: Product) -> Judgement:
    """The verdict on results for these operands and, without compiling again, for others."""
    second = Called.of(other(first.trial))
    calls = [(first, outcome), (second, _call(second.trial, product))]
    labels = ("compiled", "compiled, with other contents")
    seen = [Seen(label, base, came) for label, (base, came) in zip(labels, calls, strict=True)]
    return odd("with other contents", second) or settle(first, seen, owed=False)


def innermost(error: BaseException) -> BaseException:
    """What a compiler's exception wraps, or the exception itself."""
    while type(error).__module__.startswith(WRAPPERS) or str(error).startswith(TRACING):
        inner = getattr(error, "inner_exception", None) or error.__cause__ or error.__context__
        if inner is None:
            break
        error = inner
    return error


@contextmanager
def fresh_compiler() -> Iterator[None]:
    """Nothing compiled before or after; the compiler's own warnings are no verdict on a kernel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch._dynamo.reset()
        try:
            yield
        finally:
            torch._dynamo.reset()


@cache
def why_not(kind: str, compiler: str) -> str:
    """Why nothing can be compiled on a ``kind`` of device here, or nothing; found out by compiling a sum."""
    try:
        with fresh_compiler():
            add = torch.compile(torch.add, dynamic=False, backend=compiler)
            add(torch.ones(2, device=kind), 1)
    except Exception as error:  # compilers, their dependencies and what calls them raise anything
        return f"torch.compile does not work here ({error_line(error)})"
    return ""
