"""Quantisers to judge: right ones that differ in what is legal, and ones that misbehave beside their values."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from conformance.quantising.catalogue import FAULTS
from conformance.quantising.steps import EPS, Steps


class Made:
    """The two quantisers of `Steps`, or of what replaces some of them."""

    def __init__(self, steps: Steps, name: str = "made") -> None:
        self.steps, self.name = steps, name

    def per_token_group_quant_fp8(
        self,
        x: Tensor,
        group_size: int,
        eps: float = EPS,
        dtype: torch.dtype | None = None,
        column_major_scales: bool = False,
        tma_aligned_scales: bool = False,
        use_ue8m0: bool = False,
    ) -> tuple[Tensor, Tensor]:
        codes, scales = self.steps.quantise(
            x.reshape(-1, x.shape[-1]), 1, group_size, dtype or torch.float8_e4m3fn, use_ue8m0
        )
        if column_major_scales:
            scales = self.by_column(scales, 4 if tma_aligned_scales else 1)
        else:
            scales = scales.reshape(*x.shape[:-1], scales.shape[1])
        return codes.reshape(x.shape), scales

    def by_column(self, scales: Tensor, multiple: int) -> Tensor:
        rows = -(-scales.shape[0] // multiple) * multiple
        buffer = scales.new_zeros(scales.shape[1], rows)
        buffer[:, : scales.shape[0]] = scales.t()
        return buffer.t()[: scales.shape[0]]

    def per_block_quant_fp8(
        self, w: Tensor, block_size: tuple[int, int], use_ue8m0: bool = False, dtype: torch.dtype | None = None
    ) -> tuple[Tensor, Tensor]:
        return self.steps.quantise(w, *block_size, dtype or torch.float8_e4m3fn, use_ue8m0)


# Right.


class Reciprocal(Steps):
    """As Triton kernels compute it: with the reciprocal of the limit, and of the scale."""

    def scale(self, amax: Tensor, limit: float) -> Tensor:
        return amax.clamp(min=EPS) * torch.tensor(1 / limit, dtype=torch.float32)

    def quotient(self, blocks: Tensor, scales: Tensor) -> Tensor:
        return blocks * scales.reciprocal()[:, None, :, None]


class ReciprocalOfScale(Steps):
    def quotient(self, blocks: Tensor, scales: Tensor) -> Tensor:
        return blocks * scales.reciprocal()[:, None, :, None]


class Double(Steps):
    """Everything in float64."""

    def scale(self, amax: Tensor, limit: float) -> Tensor:
        return (amax.double().clamp(min=EPS) / limit).float()

    def quotient(self, blocks: Tensor, scales: Tensor) -> Tensor:
        return blocks.double() / scales.double()[:, None, :, None]

    def rounded(self, quotient: Tensor, dtype: torch.dtype, limit: float) -> Tensor:
        # No double rounding: a hair towards the exact quotient where float32 does not hold it.
        narrow = quotient.float()
        odd = narrow.double() != quotient
        towards = torch.where(quotient > narrow.double(), torch.inf, -torch.inf)
        near = torch.where(odd, narrow.nextafter(towards.float()), narrow)
        return super().rounded(torch.where(odd, (narrow + near) / 2, narrow), dtype, limit)


class FastDivision(Steps):
    """Both divisions up to two units off, as fast ones are; exact by powers of two, as those are."""

    def scale(self, amax: Tensor, limit: float) -> Tensor:
        plain = super().scale(amax, limit)
        lane = torch.arange(plain.numel()).reshape(plain.shape) % 5 - 2
        mantissa, _ = torch.frexp(plain)
        return torch.where(
            (mantissa == 0.5) | ~plain.isfinite(), plain, (plain.view(torch.int32) + lane.int()).view(torch.float32)
        )

    def quotient(self, blocks: Tensor, scales: Tensor) -> Tensor:
        exact = super().quotient(blocks, scales)
        lane = torch.arange(blocks.shape[-1]) % 5 - 2
        mantissa, _ = torch.frexp(scales)
        power = (mantissa == 0.5)[:, None, :, None] | (exact == 0) | ~exact.isfinite()
        return torch.where(power, exact, (exact.view(torch.int32) + lane.int()).view(torch.float32))


class KeepsNan(Steps):
    """The scale is that of the finite elements; what is not finite becomes the code NaN."""

    def amax(self, blocks: Tensor) -> Tensor:
        return torch.where(blocks.isfinite(), blocks.abs(), 0.0).amax((1, 3))

    def rounded(self, quotient: Tensor, dtype: torch.dtype, limit: float) -> Tensor:
        return super().rounded(torch.where(quotient.isfinite(), quotient, torch.nan), dtype, limit)


class Logarithm(Steps):
    """As CUDA kernels round up to a power of two: by a logarithm in float32."""

    def power(self, scale: Tensor) -> Tensor:
        return torch.where(scale.isfinite(), scale.clamp(min=EPS).log2().ceil().exp2(), scale)


RIGHT: dict[str, Steps] = {
    "division": Steps(),
    "reciprocal": Reciprocal(),
    "reciprocal-of-scale": ReciprocalOfScale(),
    "double": Double(),
    "fast-division": FastDivision(),
    "keeps-nan": KeepsNan(),
    "logarithm": Logarithm(),
}


# Wrong, each in what one family of values is about and nothing else is.


class TiesToOdd(Steps):
    """Halfway values, and no others, go to the odd code."""

    def rounded(self, quotient: Tensor, dtype: torch.dtype, limit: float) -> Tensor:
        even = super().rounded(quotient, dtype, limit)
        beyond = quotient + (quotient - even.float())
        tie = (beyond != quotient) & (beyond.to(dtype).float() == beyond)
        return torch.where(tie, beyond.to(dtype).view(torch.uint8), even.view(torch.uint8)).view(dtype)


class LastBitDropped(Steps):
    """The last bit of x is lost: less than a fast division may be off."""

    def read(self, x: Tensor) -> Tensor:
        return (x.float().view(torch.int32) & -2).view(torch.float32)


class OneCodeOff(Steps):
    """An encoder by table, one entry of which is wrong: 13 comes back as 14, and nothing else does."""

    def rounded(self, quotient: Tensor, dtype: torch.dtype, limit: float) -> Tensor:
        return super().rounded(torch.where(quotient == 13.0, 14.0, quotient), dtype, limit)


class CoarseLogarithm(Steps):
    """A logarithm of few bits: it does not see what exceeds a power of two by 2^-12."""

    def power(self, scale: Tensor) -> Tensor:
        return super().power(scale * (1 - 1.01 * 2.0**-12))


ISOLATED: dict[str, Steps] = {
    "ties": TiesToOdd(),
    "near-ties": LastBitDropped(),
    "codes": OneCodeOff(),
    "scale-edges": CoarseLogarithm(),
    "zeros": FAULTS["scale-of-zeros-is-one"].build(),
    "small": FAULTS["eps-added"].build(),
    "large": FAULTS["times-limit-first"].build(),
    "one-special": FAULTS["nan-swallowed"].build(),
}
"""By the family that alone sees it. `group-tags` carries the options, and `normal` is what engines see."""


# Wrong beside the values.


class RowMajor(Made):
    """Column-major scales are never made."""

    def by_column(self, scales: Tensor, multiple: int) -> Tensor:
        return scales


class Unpadded(Made):
    """TMA alignment is ignored."""

    def by_column(self, scales: Tensor, multiple: int) -> Tensor:
        return super().by_column(scales, 1)


class Misread(Made):
    """Scales are written by rows into memory that is handed out by columns."""

    def by_column(self, scales: Tensor, multiple: int) -> Tensor:
        laid_out = super().by_column(scales, multiple)
        laid_out.t().copy_(scales.reshape(scales.shape[1], scales.shape[0]))
        return laid_out


class Odd(Made):
    """Something else is done before or after, or to what comes."""

    def per_token_group_quant_fp8(self, x: Tensor, group_size: int, *rest: Any, **options: Any) -> Any:
        return self.spoil(x, super().per_token_group_quant_fp8(self.taken(x), group_size, *rest, **options))

    def taken(self, x: Tensor) -> Tensor:
        return x

    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        return pair


class WritesInput(Odd):
    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        x.clamp_(-1, 1)
        return pair


class IgnoresStrides(Odd):
    def taken(self, x: Tensor) -> Tensor:
        strides = [1]
        for size in x.shape[:0:-1]:
            strides.insert(0, strides[0] * size)
        return torch.as_strided(x, x.shape, strides)


class BatchFirst(Odd):
    def taken(self, x: Tensor) -> Tensor:
        return x.transpose(0, 1).reshape(x.shape) if x.ndim == 3 else x


class OtherEachTime(Odd):
    calls = 0

    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        self.calls += 1
        scales = pair[1].clone()
        if self.calls % 2 == 0 and scales.numel():
            scales.view(-1).view(torch.int32)[0] += 1
        return pair[0], scales


class OneBuffer(Odd):
    buffers: ClassVar[dict[Any, Tensor]] = {}

    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        buffer = self.buffers.setdefault(x.shape, torch.empty_like(pair[0]))
        return buffer.copy_(pair[0]), pair[1]


class NoPair(Odd):
    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        return pair[0]


class NotTensors(Odd):
    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        return pair[0], 1.0


class Sparse(Odd):
    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        return pair[0], pair[1].to_sparse()


class OnMeta(Odd):
    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        return pair[0].to("meta"), pair[1]


class GivesInputBack(Odd):
    """Codes lie in the memory of x."""

    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        return x.view(torch.uint8)[:, : x.shape[1]].view(torch.float8_e4m3fn), pair[1]


class CodesAsFloats(Odd):
    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        return pair[0].float(), pair[1]


class ScaleOfRows(Odd):
    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        return pair[0], pair[1][..., :1]


class Raises(Odd):
    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        raise RuntimeError("no kernel for this device")


class Declines(Odd):
    def spoil(self, x: Tensor, pair: tuple[Tensor, Tensor]) -> Any:
        raise NotImplementedError("not yet")


class WholeGroupsOnly(Odd):
    """Right: as upstream asserts."""

    def per_token_group_quant_fp8(self, x: Tensor, group_size: int, *rest: Any, **options: Any) -> Any:
        assert x.shape[-1] % group_size == 0, "the last dimension of `x` must be divisible by `group_size`"
        return super().per_token_group_quant_fp8(x, group_size, *rest, **options)


class DeclaresReciprocal(Made):
    """Right, but not of the variant that it declares."""

    arithmetic = "reciprocal"


def plain(x: Tensor, group_size: int) -> tuple[Tensor, Tensor]:
    """The least there is: no option, one format."""
    return Steps().quantise(x, 1, group_size, torch.float8_e4m3fn, use_ue8m0=False)


def of_blocks(w: Tensor, block_size: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """Weights alone."""
    return Steps().quantise(w, *block_size, torch.float8_e4m3fn, use_ue8m0=False)
