"""Other contents for memory that a kernel has seen before."""

from __future__ import annotations

from collections.abc import Iterator
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


def edited(trial: Trial) -> Iterator[tuple[str, Trial]]:
    """Each operand changed in its last row or last lanes alone, so that what was exact stays so, with its name."""
    a, b, sa, sb = trial.operands.tensors
    rows, lanes = (slice(-1, None),), (slice(None), slice(-1, None))
    yield "the last row of B", _with(trial, a, _changed(b, rows), sa, sb)
    yield "the last lane of B", _with(trial, a, _changed(b, lanes), sa, sb)
    yield "the last row of A", _with(trial, _changed(a, rows), b, sa, sb)
    yield "the last lane of A", _with(trial, _changed(a, lanes), b, sa, sb)
    yield "the last row of the A scales", _with(trial, a, b, _changed(sa, rows), sb)
    yield "the last row of the B scales", _with(trial, a, b, sa, _changed(sb, rows))


def _changed(x: Tensor, where: tuple[slice, ...]) -> Tensor:
    changed = x.clone()
    changed[where] = x[where] / 2 if x.dtype == torch.float32 else _negative(x[where])
    return changed


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
