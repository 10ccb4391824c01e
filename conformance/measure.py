"""The numbers of a verdict: how far a result is from the exact value, element by element."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from conformance.verdict import Measured, WrongElement
from reference import Expectation, Fit, round_to

SHOWN = 5
"""Wrong elements that a record lists."""


def measure_exact(out: Tensor, exact: Tensor, reference: Tensor | None, *, any_special: bool = False) -> Measured:
    """Tier exact: every element must be the exact value, correctly rounded. Zeros of either sign are equal."""
    wrong = wrong_exactly(out, exact, any_special=any_special)
    return measurement("exact", out, round_to(exact, out.dtype), wrong, reference)


def wrong_exactly(out: Tensor, exact: Tensor, *, any_special: bool = False) -> Tensor:
    """Mask of the elements that are not the exact value, correctly rounded; NaN is owed where the exact value is NaN.

    ``any_special``: where the exact value is not finite, neither NaN nor infinity is wrong, since the order in which
    an infinite scale is applied decides which of them comes.
    """
    expected = round_to(exact, out.dtype)
    right = (out == expected) | (out.isnan() & expected.isnan())
    if any_special:
        right |= ~torch.isfinite(exact) & ~torch.isfinite(out)
    return ~right


def measure_bound(out: Tensor, expectation: Expectation, reference: Tensor | None) -> Measured:
    """Tier bound: every element must lie between the least and the greatest right result."""
    wrong = out_of_bound(out, expectation)
    measured = measurement("bound", out, round_to(expectation.exact, out.dtype), wrong, reference)
    ratio = (out.double() - expectation.exact).abs() / _reach(expectation, out.dtype)
    return replace(measured, err_over_bound=_rounded(ratio.max().item()) if out.numel() else 0.0)


def out_of_bound(out: Tensor, expectation: Expectation) -> Tensor:
    """Mask of the elements that no right kernel returns."""
    low, high = expectation.interval(out.dtype)
    wide = out.double()
    return ~((wide >= low) & (wide <= high))


def _reach(expectation: Expectation, out_dtype: torch.dtype) -> Tensor:
    """Accumulation error and half a unit of the output dtype: the scale that err_over_bound is reported on."""
    info = torch.finfo(out_dtype)
    half_unit = (expectation.exact.abs() + expectation.error) * (info.eps / 2)
    return expectation.error + half_unit + info.smallest_normal * (info.eps / 2)


def measure_bits(measured: Measured, fit: Fit, arithmetic: str) -> Measured:
    """Tier bits, on top of another tier: how many elements the arithmetic gives bit for bit, and with which split."""
    return replace(measured, tier="bits", plan=fit.plan, explained=fit.explained, arithmetic=arithmetic)


def measurement(tier: str, out: Tensor, expected: Tensor, wrong: Tensor, reference: Tensor | None) -> Measured:
    """The numbers of ``out`` [M, N] beside the ``expected`` results, where the elements of a mask are ``wrong``."""
    finite = torch.isfinite(out) & torch.isfinite(expected)
    distance = torch.where(finite, (ordered(out) - ordered(expected)).abs(), 0)
    worst = int(distance.argmax()) if out.numel() else 0
    worst_ulp = int(distance.flatten()[worst]) if out.numel() else 0
    return Measured(
        tier=tier,
        elements=out.numel(),
        wrong=int(wrong.sum()),
        not_finite=int((~torch.isfinite(out)).sum()),
        worst_ulp=worst_ulp,
        worst_at=divmod(worst, out.shape[1]) if worst_ulp else None,
        rel_diff=None if reference is None else _rel_diff(out, reference.to(out.dtype)),
        first_wrong=_first_wrong(out, expected, wrong),
    )


def ordered(x: Tensor) -> Tensor:
    """Floats as int64 in the same order, neighbours one apart: differences count units in the last place."""
    bits = x.contiguous().view(torch.int32 if x.dtype == torch.float32 else torch.int16).long()
    sign_bit = 1 << (31 if x.dtype == torch.float32 else 15)
    return torch.where(bits < 0, -(bits + sign_bit), bits)


def _rel_diff(out: Tensor, reference: Tensor) -> float | None:
    """Upstream's metric, mean|out - ref| / mean|ref|; reported, never decisive. None where it is not finite."""
    value = ((out.double() - reference.double()).abs().mean() / reference.double().abs().mean()).item()
    return _rounded(value)


def _rounded(value: float) -> float | None:
    return float(f"{value:.4g}") if value == value and abs(value) != float("inf") else None


def _first_wrong(out: Tensor, expected: Tensor, wrong: Tensor) -> tuple[WrongElement, ...]:
    return tuple(
        WrongElement(r, c, *(float(x[r, c]).hex() for x in (out, expected)), *(_bits(x[r, c]) for x in (out, expected)))
        for r, c in wrong.nonzero()[:SHOWN].tolist()
    )


def _bits(x: Tensor) -> str:
    """The bits of a float, in hexadecimal digits."""
    size, dtype = (8, torch.int32) if x.dtype == torch.float32 else (4, torch.int16)
    return f"0x{int(x.view(dtype)) & (1 << 4 * size) - 1:0{size}x}"
