"""`conformance sensitivity`: the smallest fault of each kind that every tier detects, beside the field's metrics."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from cases.problem import OUT_DTYPES
from conformance.errors import UsageError, unknown
from conformance.probe import parse_device, probe
from conformance.sensitivity_judges import JUDGES, Alarm, Judge
from conformance.sensitivity_subject import KINDS, K, Subject
from conformance.sensitivity_table import render

__all__ = ["Threshold", "document", "measure", "render"]

EPSILONS = tuple(2.0 ** (step / 8) for step in range(-240, 81))
"""Amplitudes tried, from 2^-30 to 2^10, 9 percent apart."""
CPU_SIZES = (256, 384, 512, 768, 1024)
GPU_SIZES = (256, 512, 1024, 2048, 4096)
CONFIRMED_MACS = {"cpu": 1 << 27}
"""Multiply-accumulates up to which the bits tier is asked itself; any number on other devices."""


@dataclass(frozen=True)
class Threshold:
    """The smallest ``epsilon`` of a ``kind`` of fault that a ``judge`` detects in ``size`` x ``size`` results.

    It and every larger amplitude tried was detected; None where not even the largest was. ``confirmed`` is False where
    the decision of the bits tier was taken from results emulated once, and not repeated by the tier itself.
    """

    kind: str
    judge: str
    size: int
    out: str
    epsilon: float | None
    confirmed: bool = True


def measure(device: str | None = None, sizes: Sequence[int] | None = None, *, out: str = "bf16") -> list[Threshold]:
    """The thresholds of every kind and judge at ``sizes`` (outputs a side) for results stored as ``out``.

    ``device`` None is the accelerator of this machine, or its CPU; ``sizes`` None is `CPU_SIZES` (under a minute)
    or `GPU_SIZES`.
    Raises UsageError for a device that is not here, a size below 1 and an unknown ``out``.
    """
    where = parse_device(device)
    chosen = tuple(sizes) if sizes is not None else CPU_SIZES if where.type == "cpu" else GPU_SIZES
    if not chosen or min(chosen) < 1:
        raise UsageError(f"sizes are outputs a side, one at least and none below 1, not {chosen}")
    if out not in OUT_DTYPES:
        raise unknown("output dtype", out, OUT_DTYPES)
    found = [threshold for size in chosen for threshold in _of_size(size, out, where)]
    order = [*KINDS, *(judge.name for judge in JUDGES)]
    return sorted(found, key=lambda t: (order.index(t.kind), order.index(t.judge), t.size))


def _of_size(size: int, out: str, device: torch.device) -> list[Threshold]:
    families = dict.fromkeys(judge.family for judge in JUDGES)
    subjects = {family: Subject(family, size, out, device) for family in families}
    return [_threshold(judge, subjects[judge.family], kind) for kind in KINDS for judge in JUDGES]


def _threshold(judge: Judge, subject: Subject, kind: str) -> Threshold:
    first = bisect_left(EPSILONS, True, key=lambda epsilon: judge.alarms(subject, subject.disturbed(kind, epsilon)))
    problem, device = subject.case.problem, subject.evidence.operands.A.device
    confirmed = judge.confirms is None or problem.macs <= CONFIRMED_MACS.get(device.type, problem.macs)
    if judge.confirms is not None and confirmed:
        _confirm(judge.confirms, subject, kind, first)
    epsilon = EPSILONS[first] if first < len(EPSILONS) else None
    return Threshold(kind, judge.name, problem.m, problem.out, epsilon, confirmed)


def _confirm(alarms: Alarm, subject: Subject, kind: str, first: int) -> None:
    """Raise AssertionError unless the tier itself starts to alarm at the amplitude of index ``first``."""
    for index in range(max(first - 1, 0), min(first + 1, len(EPSILONS))):
        if alarms(subject, subject.disturbed(kind, EPSILONS[index])) != (index >= first):
            raise AssertionError(
                f"{subject.case.id}: the tier bits differs from its search at {kind} {EPSILONS[index]}"
            )


def document(found: Sequence[Threshold], device: str | None = None) -> dict[str, Any]:
    """``found`` as a JSON document, with what was disturbed, who judged, and the device that it was measured on."""
    platform = probe(parse_device(device))
    return {
        "torch": platform.torch_version,
        "path": platform.path,
        "device_name": platform.device_name,
        "k": K,
        "sizes": sorted({t.size for t in found}),
        "outs": sorted({t.out for t in found}),
        "smallest_tried": EPSILONS[0],
        "largest_tried": EPSILONS[-1],
        "kinds": dict(KINDS),
        "judges": {j.name: {"says": j.says, "family": j.family, "is_tier": j.is_tier} for j in JUDGES},
        "thresholds": [asdict(t) for t in found],
    }
