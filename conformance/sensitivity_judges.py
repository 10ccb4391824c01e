"""Who looks at a disturbed result: the suite's tiers, and the metrics of the field with their published limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from conformance.sensitivity_subject import Subject
from conformance.tiers import Claim, judge_values
from reference import SM90
from reference.splitk import same_bits

Alarm = Callable[[Subject, Tensor], bool]


@dataclass(frozen=True)
class Judge:
    """A judge by ``name``, what it ``says``, the value ``family`` that it sees, and whether it ``alarms``.

    ``confirms`` is the suite's own decision where ``alarms`` is a quicker way to the same answer.
    """

    name: str
    says: str
    family: str
    alarms: Alarm
    is_tier: bool = False
    confirms: Alarm | None = None


def _tier(claim: Claim | None) -> Alarm:
    def alarms(subject: Subject, out: Tensor) -> bool:
        return judge_values(subject.case, subject.evidence, claim, out).verdict != "passed"

    return alarms


def _no_plan_gives(subject: Subject, out: Tensor) -> bool:
    """What `infer_split_k` finds, from results that were emulated once."""
    return not any(bool(same_bits(honest, out).all()) for honest in subject.honest)


def _metric(accepts: Callable[[Tensor, Tensor], Tensor]) -> Alarm:
    # Not accepting is an alarm, so that NaN is one.
    return lambda subject, out: not bool(accepts(out.double(), subject.reference))


def rel_diff(out: Tensor, reference: Tensor) -> Tensor:
    """Mean absolute difference over mean magnitude: `test_block_fp8.py` in vLLM's kernel tests."""
    return (out - reference).abs().mean() / reference.abs().mean()


def calc_diff(out: Tensor, reference: Tensor) -> Tensor:
    """1 - 2<x, y> / (x² + y²): `calc_diff` in DeepGEMM's testing helpers."""
    return 1 - 2 * (out * reference).sum() / (out.square() + reference.square()).sum()


def cosine(out: Tensor, reference: Tensor) -> Tensor:
    """Cosine of the angle between both results: `test_scaled_matmul_cuda.py` of PyTorch."""
    return (out * reference).sum() / (out.square().sum() * reference.square().sum()).sqrt()


def is_close(out: Tensor, reference: Tensor) -> Tensor:
    """Whether all lie within atol 0.6 and rtol 0.07 (the same test of PyTorch), in units of the reference's rms.

    Without a unit the limit would mean nothing: there the results of random data are 0.02 to 0.04, far below 0.6.
    """
    rms = reference.square().mean().sqrt()
    return ((out - reference).abs() / rms <= 0.6 + 0.07 * reference.abs() / rms).all()


JUDGES = (
    Judge("exact", "exact data, zero tolerance", "integer-codes", _tier(None), True),
    Judge("bound", "derived error bound, no arithmetic declared", "quantised-normal", _tier(None), True),
    Judge("bits", "SM90 declared, every bit", "quantised-normal", _no_plan_gives, True, _tier(Claim(SM90, "declared"))),
    Judge(
        "rel_diff",
        "mean|x - y| / mean|y| < 1e-3, vLLM",
        "quantised-normal",
        _metric(lambda x, y: rel_diff(x, y) < 1e-3),
    ),
    Judge(
        "calc_diff",
        "1 - 2xy / (x² + y²) < 1e-3, DeepGEMM",
        "quantised-normal",
        _metric(lambda x, y: calc_diff(x, y) < 1e-3),
    ),
    Judge("cosine", "cosine > 0.999, PyTorch", "quantised-normal", _metric(lambda x, y: cosine(x, y) > 0.999)),
    Judge("allclose", "atol 0.6, rtol 0.07, PyTorch; rms as 1", "quantised-normal", _metric(is_close)),
)
"""The tiers, each on the data that it is for, then the field's metrics on the data that engines see."""
