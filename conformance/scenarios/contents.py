"""Other contents for memory that a kernel has seen before."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from cases.operands import Operands, build_operands
from conformance.evidence import Evidence
from conformance.presentation import Presented
from conformance.trial import Trial

SUITE_SEED = 1 << 40
"""Unlike any that a user gives, so that families that have few seeds differ as well."""
SIGN, REST = 0x80, 0x7F


def other(trial: Trial) -> Trial:
    """The same problem and family under another seed: other data and other scales."""
    case = trial.assignment.case
    seeds = case.family.seeds(case.problem)
    seed = case.seed + 1 if seeds is None else (case.seed + 1) % seeds
    changed = replace(case, seed=seed)
    operands = build_operands(changed, seed=SUITE_SEED, device=trial.device)
    return Trial(replace(trial.assignment, case=changed), Evidence(changed.problem, operands))


def rescaled(trial: Trial) -> Trial:
    """Other scales alone. They are halved, so that what was exact stays so."""
    a, b, sa, sb = trial.operands.tensors
    return _with(trial, a, b, sa / 2, sb / 2)


def negated(trial: Trial) -> Trial:
    """Other data alone: the signs of A and of every other row of B change, so that what was exact stays so."""
    a, b, sa, sb = trial.operands.tensors
    flipped = b.clone()
    flipped.view(torch.uint8)[1::2] = _negative(b[1::2]).view(torch.uint8)
    return _with(trial, _negative(a), flipped, sa, sb)


def _negative(codes: Tensor) -> Tensor:
    """Negative codes; zeros stay, since -0 is the NaN of the fnuz formats."""
    octets = codes.view(torch.uint8)
    return torch.where(octets & REST != 0, octets ^ SIGN, octets).view(codes.dtype)


def _with(trial: Trial, a: Tensor, b: Tensor, sa: Tensor, sb: Tensor) -> Trial:
    operands = Operands(a, b, sa, sb, f"made from {trial.operands.digest}")
    return Trial(trial.assignment, Evidence(trial.problem, operands))


def overwrite(presented: Presented, operands: Operands) -> None:
    """Put ``operands`` where others of the same shapes were presented, as nothing that a kernel did."""
    for band, values in zip(presented.bands, operands.tensors, strict=True):
        band.view.copy_(values)
        band.pristine.copy_(band.buffer)
