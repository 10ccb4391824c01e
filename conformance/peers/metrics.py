"""The metrics of the field, as it computes them. None of them is this suite's own."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.peers.record import Accepts, Sample


def mean_relative(actual: Tensor, expected: Tensor) -> float:
    """Mean absolute difference over mean absolute reference, in float32."""
    a, e = actual.float(), expected.float()
    return float((a - e).abs().mean() / e.abs().mean())


def calc_diff(actual: Tensor, expected: Tensor) -> float:
    """``1 - 2<a,e> / (<a,a> + <e,e>)`` in float64: 0 for equal matrices, 1 for orthogonal ones."""
    a, e = actual.double(), expected.double()
    return float(1 - 2 * (a * e).sum() / (a * a + e * e).sum())


def cosine(actual: Tensor, expected: Tensor) -> float:
    """The cosine between the two matrices as flat vectors, in float32."""
    return float(torch.nn.functional.cosine_similarity(actual.flatten().float(), expected.flatten().float(), dim=0))


def sqnr(actual: Tensor, expected: Tensor) -> float:
    """Signal over the noise of quantisation and kernel, in decibels, computed in the dtype of the operands."""
    return float(20 * torch.log10(torch.linalg.norm(expected) / torch.linalg.norm(expected - actual)))


def close(actual: Tensor, expected: Tensor, *, rtol: float, atol: float) -> bool:
    """``|a - e| <= atol + rtol |e|`` in every element and the dtype expected; NaN is close to nothing."""
    return actual.dtype == expected.dtype and torch.allclose(actual.float(), expected.float(), rtol=rtol, atol=atol)


def relatively_equal(actual: Tensor, expected: Tensor, *, epsilon: float, floor: float) -> bool:
    """As CUTLASS has it: ``|a - e| < epsilon (|a| + |e|)``, or ``epsilon * floor`` near zero, where the sum is below
    ``floor`` or either is 0.

    Source: cutlass/relatively_equal.h.
    """
    a, e = actual.float(), expected.float()
    difference, total = (a - e).abs(), a.abs() + e.abs()
    tiny = (a == 0) | (e == 0) | (total < floor)
    limit = torch.where(tiny, torch.full_like(a, epsilon * floor), epsilon * total)
    return bool(((a == e) | (difference < limit)).all())


def mean_relative_below(limit: float) -> Accepts:
    """Accepts a mean relative difference below ``limit``."""
    return lambda out, sample: mean_relative(out, sample.reference) < limit


def calc_diff_below(limit: float) -> Accepts:
    """Accepts a `calc_diff` below ``limit``, which NaN is not."""
    return lambda out, sample: calc_diff(out, sample.reference) < limit


def within(rtol: float, atol: float) -> Accepts:
    """Accepts what is `close`."""
    return lambda out, sample: close(out, sample.reference, rtol=rtol, atol=atol)


def equal_but_for_nan(out: Tensor, sample: Sample) -> bool:
    """Accepts the same values with zero tolerance, every NaN on either side taken for zero."""
    expected = sample.reference
    return out.dtype == expected.dtype and torch.equal(
        out.nan_to_num(0, None, None), expected.nan_to_num(0, None, None)
    )
