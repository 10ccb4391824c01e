"""`reference-quantiser`: the reference put to the test, which must not be its own judge."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from reference.quantise import per_block_quant_fp8, per_token_group_quant_fp8


class ReferenceQuantiser:
    """The quantisers of `reference`, held to the derivation in `conformance.quantising.legal`."""

    name = "reference-quantiser"
    is_model = True
    arithmetic = "division"

    def describe(self) -> dict[str, str]:
        """Whose semantics they have."""
        return {"model": "vLLM 0.33.0 per_token_group_quant_fp8"}

    per_token_group_quant_fp8 = staticmethod(per_token_group_quant_fp8)

    @staticmethod
    def per_block_quant_fp8(w: Tensor, block_size: tuple[int, int], **options: Any) -> tuple[Tensor, Tensor]:
        """The same for weights."""
        return per_block_quant_fp8(w, block_size, **options)
