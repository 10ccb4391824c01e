"""A quantiser taken apart into its steps, so that a fault, or another right way, replaces one of them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from reference.formats import clamping_cast, format_of

EPS = 1e-10


class Steps:
    """Quantisation of x [rows, K], a scale for every ``height`` x ``width`` elements, step by step.

    Blocks are [groups, height, groups, width]; scales and largest elements [groups, groups], float32.
    """

    def quantise(
        self, x: Tensor, height: int, width: int, dtype: torch.dtype, use_ue8m0: bool
    ) -> tuple[Tensor, Tensor]:
        """Codes [rows, K] and scales [groups, groups]."""
        rows, columns = x.shape
        blocks = self.blocks(self.read(x), height, width)
        limit = self.limit(dtype)
        plain = self.scale(self.amax(blocks), limit)
        scales = self.power(plain) if use_ue8m0 else plain
        quotient = self.quotient(blocks, self.applied(scales, plain))
        codes = self.rounded(quotient, dtype, limit)
        codes = codes.reshape(quotient.shape[0] * height, quotient.shape[2] * width)[:rows, :columns]
        return codes.contiguous(), self.stored(scales)

    def read(self, x: Tensor) -> Tensor:
        """The input in float32."""
        return x.float()

    def blocks(self, x: Tensor, height: int, width: int) -> Tensor:
        """The input cut into blocks, ragged ones filled up with zeros."""
        rows, columns = x.shape
        whole = torch.nn.functional.pad(x, (0, -columns % width, 0, -rows % height))
        return whole.reshape(-(-rows // height), height, -(-columns // width), width)

    def amax(self, blocks: Tensor) -> Tensor:
        """The largest magnitude of each block."""
        return blocks.abs().amax((1, 3))

    def limit(self, dtype: torch.dtype) -> float:
        """What the largest element is scaled to."""
        return format_of(dtype).quant_max

    def scale(self, amax: Tensor, limit: float) -> Tensor:
        """The scale of a block."""
        return amax.clamp(min=EPS) / torch.full((), limit, device=amax.device)

    def power(self, scale: Tensor) -> Tensor:
        """The power of two that is not below ``scale``."""
        return self.by_exponent(scale.clamp(min=EPS), lambda mantissa: (mantissa == 0.5).int())

    @staticmethod
    def by_exponent(scale: Tensor, less: Callable[[Tensor], Tensor]) -> Tensor:
        """The power of two above ``scale``, divided by 2 to the power of what ``less`` says of its mantissa."""
        mantissa, exponent = torch.frexp(scale)
        power = torch.ldexp(torch.ones_like(scale), exponent - less(mantissa))
        return torch.where(scale.isfinite(), power, scale)

    def applied(self, scales: Tensor, plain: Tensor) -> Tensor:
        """The scales that elements are divided by: those that are returned, and not the ``plain`` ones."""
        return scales

    def quotient(self, blocks: Tensor, scales: Tensor) -> Tensor:
        """Every element over its scale."""
        return blocks / scales[:, None, :, None]

    def rounded(self, quotient: Tensor, dtype: torch.dtype, limit: float) -> Tensor:
        """The codes."""
        return clamping_cast(quotient.clamp(-limit, limit), dtype)

    def stored(self, scales: Tensor) -> Tensor:
        """The scales as they are returned."""
        return scales
