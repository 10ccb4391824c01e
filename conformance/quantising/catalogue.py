"""Wrong quantisers by name, and which of them gives what came."""

from __future__ import annotations

import torch
from torch import Tensor

from cases import QuantCase
from conformance.quantising.judge import Pair
from conformance.quantising.steps import EPS, Steps
from conformance.subjects.catalogue import Entry, Named, entered
from reference.formats import FORMATS, format_of

FAULTS: dict[str, Entry[Steps]] = {}


def name_fault(case: QuantCase, x: Tensor, pair: Pair) -> Named | None:
    """The fault of the catalogue that gives every code and every scale for ``x`` [rows, K], or None."""
    one = case.granularity
    kind = FORMATS[case.target].dtype
    codes, scales = (side.contiguous().reshape(-1) for side in (pair.codes, pair.scales))
    for entry in FAULTS.values():
        found = entry.build().quantise(x, one.rows, one.columns, kind, "ue8m0" in case.options)
        same_codes = torch.equal(found[0].reshape(-1).view(torch.uint8), codes.view(torch.uint8))
        if same_codes and torch.equal(_bits(found[1]), _bits(scales)):
            return Named(entry.name, f"every scale and every code is what {entry.name} gives: {entry.what}")
    return None


def _bits(scales: Tensor) -> Tensor:
    """NaN of any bits alike."""
    plain = torch.where(scales.isnan(), torch.nan, scales)
    return plain.contiguous().reshape(-1).view(torch.int32)


@entered(FAULTS, "amax-of-tensor", "One largest element for all of x.")
class _AmaxOfTensor(Steps):
    def amax(self, blocks: Tensor) -> Tensor:
        return torch.nn.functional.pad(blocks.abs().flatten(), (0, 1)).amax().expand(blocks.shape[0], blocks.shape[2])


@entered(FAULTS, "amax-of-row", "One largest element for all groups of a row.")
class _AmaxOfRow(Steps):
    def amax(self, blocks: Tensor) -> Tensor:
        return super().amax(blocks).amax(1, keepdim=True).expand(blocks.shape[0], blocks.shape[2])


@entered(FAULTS, "signed-amax", "The largest element and not the largest magnitude.")
class _SignedAmax(Steps):
    def amax(self, blocks: Tensor) -> Tensor:
        return blocks.amax((1, 3))


@entered(FAULTS, "last-lane-missed", "The last lane of a group has no say in its scale.")
class _LastLaneMissed(Steps):
    def amax(self, blocks: Tensor) -> Tensor:
        return super().amax(blocks[..., :-1] if blocks.shape[3] > 1 else blocks)


@entered(FAULTS, "half-groups", "The scale is that of the first half of the group.")
class _HalfGroups(Steps):
    def amax(self, blocks: Tensor) -> Tensor:
        return super().amax(blocks[..., : max(1, blocks.shape[3] // 2)])


@entered(FAULTS, "next-group", "The scale of the group before, from the second one on.")
class _NextGroup(Steps):
    def amax(self, blocks: Tensor) -> Tensor:
        found = super().amax(blocks)
        return torch.cat([found[:, :1], found[:, :-1]], 1)


@entered(FAULTS, "next-row", "The scales of the row before, from the second one on.")
class _NextRow(Steps):
    def amax(self, blocks: Tensor) -> Tensor:
        found = super().amax(blocks)
        return torch.cat([found[:1], found[:-1]])


@entered(FAULTS, "no-eps", "No least scale: a group of zeros is 0 / 0.", "ao#4713, slime#2256")
class _NoEps(Steps):
    def scale(self, amax: Tensor, limit: float) -> Tensor:
        return amax / limit


@entered(FAULTS, "eps-on-scale", "1e-10 is the least scale, and not the least amax.")
class _EpsOnScale(Steps):
    def scale(self, amax: Tensor, limit: float) -> Tensor:
        return (amax / limit).clamp(min=EPS)


@entered(FAULTS, "eps-added", "1e-10 is added to the largest element.")
class _EpsAdded(Steps):
    def scale(self, amax: Tensor, limit: float) -> Tensor:
        return (amax + EPS) / torch.full((), limit, device=amax.device)


@entered(FAULTS, "scale-of-zeros-is-one", "A group of zeros has scale 1.")
class _ScaleOfZerosIsOne(Steps):
    def scale(self, amax: Tensor, limit: float) -> Tensor:
        return torch.where(amax == 0, 1.0, super().scale(amax, limit))


@entered(FAULTS, "limit-of-fnuz", "Scaled to 240, the largest value of the FNUZ format.")
class _LimitOfFnuz(Steps):
    def limit(self, dtype: torch.dtype) -> float:
        return 240.0


@entered(FAULTS, "limit-halved", "Scaled to half of the largest value: a bit of every code is lost.")
class _LimitHalved(Steps):
    def limit(self, dtype: torch.dtype) -> float:
        return super().limit(dtype) / 2


@entered(FAULTS, "scale-in-bf16", "The scale is computed in bfloat16.")
class _ScaleInBf16(Steps):
    def scale(self, amax: Tensor, limit: float) -> Tensor:
        return super().scale(amax, limit).bfloat16().float()


@entered(FAULTS, "x-in-bf16", "x is cut to bfloat16 before anything is done with it.")
class _XInBf16(Steps):
    def read(self, x: Tensor) -> Tensor:
        return x.bfloat16().float()


@entered(FAULTS, "x-in-fp16", "x goes through float16, which ends at 65504 and has no small numbers.")
class _XInFp16(Steps):
    def read(self, x: Tensor) -> Tensor:
        return x.half().float()


@entered(FAULTS, "times-limit-first", "x times the limit, and that over amax: the product overflows.")
class _TimesLimitFirst(Steps):
    def quotient(self, blocks: Tensor, scales: Tensor) -> Tensor:
        return blocks * 448.0 / (scales * 448.0)[:, None, :, None]


@entered(FAULTS, "quotient-in-bf16", "The quotient is rounded to bfloat16 first, and then to FP8.")
class _QuotientInBf16(Steps):
    def quotient(self, blocks: Tensor, scales: Tensor) -> Tensor:
        return super().quotient(blocks, scales).bfloat16().float()


@entered(FAULTS, "half-away", "Ties are rounded away from zero.")
class _HalfAway(Steps):
    def rounded(self, quotient: Tensor, dtype: torch.dtype, limit: float) -> Tensor:
        # A hair outwards, which only ties feel.
        return super().rounded(quotient.nextafter(quotient * 2), dtype, limit)


@entered(FAULTS, "half-towards-zero", "Ties are rounded towards zero.")
class _HalfTowardsZero(Steps):
    def rounded(self, quotient: Tensor, dtype: torch.dtype, limit: float) -> Tensor:
        return super().rounded(quotient.nextafter(torch.zeros_like(quotient)), dtype, limit)


@entered(FAULTS, "truncated-codes", "Codes are cut towards zero and not rounded.")
class _TruncatedCodes(Steps):
    def rounded(self, quotient: Tensor, dtype: torch.dtype, limit: float) -> Tensor:
        codes = super().rounded(quotient, dtype, limit)
        above = codes.float().abs() > quotient.abs()
        return torch.where(above, codes.view(torch.uint8) - 1, codes.view(torch.uint8)).view(dtype)


@entered(FAULTS, "subnormals-flushed", "Quotients below the normal numbers of the format become zero.")
class _SubnormalsFlushed(Steps):
    def rounded(self, quotient: Tensor, dtype: torch.dtype, limit: float) -> Tensor:
        least = 2.0 ** format_of(dtype).min_exponent
        return super().rounded(torch.where(quotient.abs() < least, 0.0, quotient), dtype, limit)


@entered(FAULTS, "largest-is-nan", "What reaches the largest value becomes NaN instead of staying there.")
class _LargestIsNan(Steps):
    def rounded(self, quotient: Tensor, dtype: torch.dtype, limit: float) -> Tensor:
        return super().rounded(torch.where(quotient.abs() >= limit, torch.nan, quotient), dtype, limit)


@entered(FAULTS, "magnitudes-only", "The sign of x is lost.")
class _MagnitudesOnly(Steps):
    def quotient(self, blocks: Tensor, scales: Tensor) -> Tensor:
        return super().quotient(blocks, scales).abs()


@entered(FAULTS, "power-below", "Powers of two are rounded down.")
class _PowerBelow(Steps):
    def power(self, scale: Tensor) -> Tensor:
        return self.by_exponent(scale.clamp(min=EPS), lambda mantissa: torch.ones_like(mantissa).int())


@entered(FAULTS, "power-nearest", "Powers of two are rounded to nearest.")
class _PowerNearest(Steps):
    def power(self, scale: Tensor) -> Tensor:
        return self.by_exponent(scale.clamp(min=EPS), lambda mantissa: (mantissa < 0.75).int())


@entered(FAULTS, "power-beyond", "A scale that is a power of two becomes the next one.")
class _PowerBeyond(Steps):
    def power(self, scale: Tensor) -> Tensor:
        return self.by_exponent(scale.clamp(min=EPS), lambda mantissa: torch.zeros_like(mantissa).int())


@entered(FAULTS, "power-without-least", "Scales below 1e-10 are rounded to powers of two of their own.")
class _PowerWithoutLeast(Steps):
    def power(self, scale: Tensor) -> Tensor:
        return self.by_exponent(scale, lambda mantissa: (mantissa == 0.5).int())


@entered(FAULTS, "codes-of-unrounded-scale", "The scale is rounded up, and the codes are not.", "transformers#47030")
class _CodesOfUnroundedScale(Steps):
    def applied(self, scales: Tensor, plain: Tensor) -> Tensor:
        return plain


@entered(FAULTS, "scale-inverted", "The factor that x was multiplied by is returned, and not the one to get it back.")
class _ScaleInverted(Steps):
    def stored(self, scales: Tensor) -> Tensor:
        return scales.reciprocal()


@entered(FAULTS, "scales-transposed", "Scales are stored by columns and read by rows.")
class _ScalesTransposed(Steps):
    def stored(self, scales: Tensor) -> Tensor:
        return scales.t().contiguous().view(scales.shape)


@entered(FAULTS, "nan-swallowed", "fmax and fmin drop NaN: it becomes the least code.", "vLLM 0.33.0, CUDA")
class _NanSwallowed(Steps):
    def amax(self, blocks: Tensor) -> Tensor:
        return torch.where(blocks.isnan(), 0.0, blocks.abs()).amax((1, 3))

    def rounded(self, quotient: Tensor, dtype: torch.dtype, limit: float) -> Tensor:
        return super().rounded(torch.where(quotient.isnan(), -limit, quotient), dtype, limit)


@entered(FAULTS, "infinity-saturated", "Infinities become the largest code under the scale of the others.")
class _InfinitySaturated(Steps):
    def amax(self, blocks: Tensor) -> Tensor:
        return torch.where(blocks.isinf(), 0.0, blocks.abs()).amax((1, 3))


@entered(FAULTS, "nan-everywhere", "A NaN or an infinity in one group reaches the scales of its whole row.")
class _NanEverywhere(Steps):
    def amax(self, blocks: Tensor) -> Tensor:
        found = super().amax(blocks)
        bad = ~found.isfinite().all(1, keepdim=True)
        return torch.where(bad, torch.nan, found)


@entered(FAULTS, "padding-of-ones", "The last group, where it is not whole, is filled up with what lies there.")
class _PaddingOfOnes(Steps):
    def blocks(self, x: Tensor, height: int, width: int) -> Tensor:
        rows, columns = x.shape
        whole = torch.nn.functional.pad(x, (0, -columns % width, 0, -rows % height), value=1e4)
        return whole.reshape(-(-rows // height), height, -(-columns // width), width)
