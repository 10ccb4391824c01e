"""Further calls beside a first one: other contents, and what differing results come to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from torch import Tensor

from cases.operands import Operands, build_operands
from cases.scenarios import DETERMINISM
from conformance.calling import Outcome
from conformance.evidence import Evidence
from conformance.presentation import Presented, present
from conformance.tiers import Judgement, failed
from conformance.trial import Trial
from reference.splitk import same_bits

FINE = Judgement("passed", holds=True)


def other_contents(trial: Trial) -> Evidence:
    """Operands of the same problem and family with other bytes."""
    case = replace(trial.assignment.case, seed=trial.assignment.case.seed + 1)
    return Evidence(trial.problem, build_operands(case, device=trial.device))


def mixed(codes: Operands, scales: Operands) -> Operands:
    """The codes of one and the scales of the other."""
    return Operands(codes.A, codes.B, scales.As, scales.Bs, f"{codes.digest} under {scales.digest}")


def present_as(trial: Trial, operands: Operands | None = None) -> Presented:
    """Operands, the case's own by default, laid out as usual."""
    return present(operands or trial.operands, out_dtype=trial.problem.out_dtype)


def overwrite(presented: Presented, operands: Operands) -> None:
    """Put other contents behind the same pointers."""
    for view, content in zip(presented.tensors, operands.tensors, strict=True):
        view.copy_(content)


def owes_determinism(trial: Trial) -> bool:
    """Whether calls have to repeat bit for bit: where that is declared, or an arithmetic that decides every bit."""
    declared = trial.assignment.backend.capabilities.get(DETERMINISM)
    return bool(declared) or (declared is None and trial.assignment.backend.arithmetic is not None)


def agree(trial: Trial, first: Tensor, results: Iterable[object], said: str) -> Judgement:
    """What results that should be ``first`` again come to; ``said`` is how they were made."""
    differing = [r for r in results if not (isinstance(r, Tensor) and r.shape == first.shape and _same(first, r))]
    for result in differing:
        judgement = trial.judge(Outcome(result))
        if judgement.verdict == "failed":
            return replace(judgement, detail=f"{said}: {judgement.detail}")
    if not differing:
        return FINE
    detail = f"{said}: {len(differing)} results differ from the first one"
    if owes_determinism(trial):
        return failed("results-differ", detail)
    return Judgement("passed", detail=f"{detail}, all of them right", holds=False)


def _same(first: Tensor, result: Tensor) -> bool:
    return result.dtype == first.dtype and bool(same_bits(first, result).all())


def raised_in(trial: Trial, outcome: Outcome, said: str) -> Judgement | None:
    """The failure of an outcome that raised or did damage where a plain call was right, or None."""
    if outcome.raised is None and outcome.damage is None:
        return None
    judgement = trial.judge(outcome)
    if judgement.verdict != "failed":
        judgement = failed("raised", f"{type(outcome.raised).__name__}: {outcome.raised}")
    return replace(judgement, detail=f"{said}: {judgement.detail}")


def worst(judgements: Iterable[Judgement]) -> Judgement:
    """The first failure, or the first property that does not hold, or the last of them."""
    found = list(judgements)
    bad = [j for j in found if j.verdict != "passed"] or [j for j in found if j.holds is False]
    return (bad or found[-1:])[0]
