"""Seeded faults of kernels that take `out`: written elsewhere, in part, or where nothing of it is."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.faults.kernel import FOLKLORE, Family, Kernel, fault, honest
from reference.blocks import DEFAULT_RECIPE

MEMORY: Family = "unwritten or overwritten memory"


@honest("into-out", what="The result is copied into a given `out`, whatever its strides.", keeps_arithmetic=True)
class IntoOut(Kernel):
    """The honest kernel with one more seam."""

    accepts_out = True

    def apply_block_scaled_mm(
        self,
        A: Tensor,
        B: Tensor,
        As: Tensor,
        Bs: Tensor,
        *,
        out_dtype: torch.dtype,
        recipe: str = DEFAULT_RECIPE,
        out: Tensor | None = None,
    ) -> Tensor:
        """The call, and its result in ``out`` where one is given."""
        result = super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype, recipe=recipe)
        return result if out is None else self.write(out, result)

    def write(self, out: Tensor, result: Tensor) -> Tensor:
        """``result`` written into ``out``, both [M, N]."""
        return out.copy_(result)


@fault(
    "out-ignored",
    family=MEMORY,
    source="flashinfer#3103",
    what="The result is returned in new memory, and `out` stays as it was.",
)
class _OutIgnored(IntoOut):
    def write(self, out: Tensor, result: Tensor) -> Tensor:
        return result


@fault(
    "out-added-to",
    family=MEMORY,
    source="TransformerEngine#3171",
    what="Split-K adds its slices to a dense `out` that nobody clears; a strided one is copied to from a workspace.",
)
class _OutAddedTo(IntoOut):
    def write(self, out: Tensor, result: Tensor) -> Tensor:
        return out.add_(result) if out.is_contiguous() else super().write(out, result)


@fault(
    "out-last-row-unwritten",
    family=MEMORY,
    source="Primus-Turbo#397",
    what="An odd last row is written to the workspace alone and not copied into `out`.",
)
class _OutLastRowUnwritten(IntoOut):
    def write(self, out: Tensor, result: Tensor) -> Tensor:
        even = len(out) - len(out) % 2
        out[:even].copy_(result[:even])
        return out


@fault(
    "out-leading-stride-ignored",
    family=MEMORY,
    source="vllm#55534",
    what="The rows of `out` are taken to be N apart, whatever its leading stride.",
)
class _OutLeadingStrideIgnored(IntoOut):
    def write(self, out: Tensor, result: Tensor) -> Tensor:
        out.as_strided(out.shape, (out.shape[1], 1)).copy_(result)
        return out


@fault(
    "out-padding-cleared",
    family=MEMORY,
    source=FOLKLORE,
    what="Whole rows of the leading stride are stored: zeros behind the N elements of all rows but the last.",
)
class _OutPaddingCleared(IntoOut):
    def write(self, out: Tensor, result: Tensor) -> Tensor:
        apart = out.stride(0)
        out.as_strided((len(out) - 1, apart - out.shape[1]), (apart, 1), out.storage_offset() + out.shape[1]).zero_()
        return super().write(out, result)
