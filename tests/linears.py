"""End-to-end linears to judge: right ones that differ in what is legal, and ones that misbehave beside their values."""

from __future__ import annotations

from typing import Any

import torch
from quantisers import RIGHT as QUANTISERS
from torch import Tensor

from conformance.linears.steps import LinearSteps
from conformance.quantising.steps import Steps
from reference import SM90, emulate_block_scaled_mm


class Fused(LinearSteps):
    """The bias is added in float32, before the cast."""

    def finished(self, product: Tensor, bias: Tensor | None, out_dtype: torch.dtype) -> Tensor:
        return self.cast(product if bias is None else product + bias.float(), out_dtype)


class OnSM90(LinearSteps):
    """The product in the arithmetic of SM90."""

    def product(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor) -> Tensor:
        return emulate_block_scaled_mm(A, B, As, Bs, recipe="1x128-128x128", out_dtype=torch.float32, arithmetic=SM90)


class PowersOfTwo(LinearSteps):
    """Scales of x are powers of two."""

    def quantised(self, x: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        return Steps().quantise(x, 1, 128, dtype, use_ue8m0=True)


RIGHT: dict[str, LinearSteps] = {
    "after": LinearSteps(),
    "before": Fused(),
    "sm90": OnSM90(),
    "powers-of-two": PowersOfTwo(),
    **{name: type(name, (LinearSteps,), {"quantiser": type(steps)})() for name, steps in QUANTISERS.items()},
}


class Odd:
    """A right linear around which something else is done."""

    def __init__(self) -> None:
        self.name = "odd"

    def linear(
        self, x: Tensor, weight: Tensor, weight_scale: Tensor, bias: Tensor | None, out_dtype: torch.dtype
    ) -> Any:
        return self.spoil(x, LinearSteps().linear(x, weight, weight_scale, bias, out_dtype))

    def spoil(self, x: Tensor, out: Tensor) -> Any:
        return out


class WritesInput(Odd):
    def spoil(self, x: Tensor, out: Tensor) -> Any:
        x.mul_(2)
        return out


class Nothing(Odd):
    def spoil(self, x: Tensor, out: Tensor) -> Any:
        return None


class Flat(Odd):
    def spoil(self, x: Tensor, out: Tensor) -> Any:
        return out.reshape(-1, out.shape[-1])


class InFloat(Odd):
    def spoil(self, x: Tensor, out: Tensor) -> Any:
        return out.float()


class Raises(Odd):
    def spoil(self, x: Tensor, out: Tensor) -> Any:
        raise RuntimeError("no kernel for this device")


class OtherEachTime(Odd):
    calls = 0

    def spoil(self, x: Tensor, out: Tensor) -> Any:
        self.calls += 1
        return out if self.calls % 2 else out.roll(1, 0)


class OneBuffer(Odd):
    def spoil(self, x: Tensor, out: Tensor) -> Any:
        self.buffer = getattr(self, "buffer", out)
        return self.buffer.copy_(out)


def plain(x: Tensor, weight: Tensor, weight_scale: Tensor) -> Tensor:
    """The least there is: no bias, results in the dtype of x."""
    return LinearSteps().linear(x, weight, weight_scale, None, x.dtype)
