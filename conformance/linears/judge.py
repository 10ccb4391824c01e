"""From what a linear returned to a verdict.

The operands behind a case are quantised in one way by every right quantiser, so what is right is the exact product, or
the interval around it, and the bias, which may be added before the cast or after it: fl(C + b), or fl(fl(C) + b), where
fl rounds to the output's dtype. vLLM adds it after the cast.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cases import LinearCase
from cases.linears.fill import Given, note
from conformance.evidence import Evidence
from conformance.measure import measurement
from conformance.received import Unusable
from conformance.tiers import Judgement, failed, sentence
from conformance.verdict import Reason
from reference import round_to

BEFORE, AFTER, NONE = "bias before the cast", "bias after the cast", "no bias"


@dataclass(frozen=True)
class Owed:
    """The least and the greatest right result, float64 [M, N], for each place that the bias may be added at."""

    case: LinearCase
    given: Given

    def ends(self) -> dict[str, tuple[Tensor, Tensor]]:
        """By the place of the bias."""
        dtype, evidence = self.case.problem.out_dtype, Evidence(self.case.problem, self.given.operands)
        if self.case.tier == "exact":
            low = high = evidence.exact
        else:
            expected = evidence.expectation(None)
            low, high = expected.exact - expected.error, expected.exact + expected.error
        bias = self.given.bias
        if bias is None:
            return {NONE: (round_to(low, dtype).double(), round_to(high, dtype).double())}
        b = bias.double()
        before = tuple(round_to(self._sum(end, b), dtype).double() for end in (low, high))
        after = tuple(round_to(round_to(end, dtype).double() + b, dtype).double() for end in (low, high))
        return {BEFORE: before, AFTER: after}  # type: ignore[dict-item]

    def _sum(self, end: Tensor, bias: Tensor) -> Tensor:
        """What float32 makes of a result and its bias: the exact sum where every sum is exact."""
        total = end + bias
        narrow = total.float().double()
        if self.case.tier == "exact":
            assert torch.equal(torch.nan_to_num(narrow), torch.nan_to_num(total)), f"{self.case.id}: a bias is rounded"
        return narrow


def judge_form(case: LinearCase, x: Tensor, out: object) -> Judgement | None:
    """What is wrong with the form of a result for ``x`` as it was handed over, or None."""
    shape = (*x.shape[:-1], case.problem.n)
    if isinstance(out, Unusable):
        owed = f"one plain tensor {list(shape)} of {case.problem.out_dtype} on {x.device}"
        return failed(out.reason, f"{out.what}: {out.instead} {owed}")
    assert isinstance(out, Tensor)
    if tuple(out.shape) != shape:
        return failed("wrong-shape", f"the result has shape {tuple(out.shape)}, not {shape}")
    if out.dtype != case.problem.out_dtype:
        return failed("wrong-dtype", f"the result is {out.dtype}, not {case.problem.out_dtype}")
    if out.device != x.device:
        return failed("wrong-device", f"the result is on {out.device}, not on {x.device}")
    return None


def judge_values(case: LinearCase, given: Given, out: Tensor) -> tuple[Judgement, Tensor]:
    """The verdict on ``out`` [M, N], and the mask of its wrong elements."""
    ends = Owed(case, given).ends()
    fits = {place: _within(out, *pair, case.family.is_special) for place, pair in ends.items()}
    right = torch.stack(list(fits.values())).any(0)
    # Beside the place of the bias that makes most of them right.
    low, high = ends[max(fits, key=lambda place: int(fits[place].sum()))]
    expected = ((low + high) / 2).to(out.dtype)
    measured = replace(measurement(case.tier, out, expected, ~right, None), arithmetic=_place(fits))
    if bool(right.all()):
        return Judgement("passed", measured=measured), ~right
    reason: Reason = "wrong-values" if case.tier == "exact" else "out-of-bound"
    said = f"{sentence(measured)}; {note(case)}" if case.family.is_special else sentence(measured)
    return failed(reason, said, replace(measured, arithmetic=None)), ~right


def _within(out: Tensor, low: Tensor, high: Tensor, is_special: bool) -> Tensor:
    wide = out.double()
    same = (wide >= low) & (wide <= high)
    odd = ~low.isfinite() if is_special else low.isnan()
    return same | (odd & ~wide.isfinite() if is_special else odd & wide.isnan())


def _place(fits: dict[str, Tensor]) -> str:
    """Where the bias is added, as far as these results tell."""
    told = [place for place, fit in fits.items() if bool(fit.all())]
    return " or ".join(told) if told else "bias before the cast here, after it there"
