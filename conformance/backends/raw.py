"""The raw call of torch's own APIs: what they receive once everything lies as they want it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from cases.problem import WHOLE_RECIPES
from conformance.backends.padding import by_column, one_column, pad_columns, pad_rows, pad_scale_rows


@dataclass(frozen=True)
class RawCall:
    """A [M, K] and B [K, N] with their scales, and what an API takes beside them.

    ``recipes`` are the two `ScalingType` of v2; v1, which has none, infers them. ``more`` are arguments that a plain
    call leaves out.
    """

    A: Tensor
    B: Tensor
    scale_a: Tensor
    scale_b: Tensor
    out_dtype: torch.dtype | None
    recipes: tuple[Any, Any] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> dict[str, Tensor]:
        """Every tensor that is only read, by the name of its argument."""
        named = {"A": self.A, "B": self.B, "scale_a": self.scale_a, "scale_b": self.scale_b, **self.more}
        return {name: x for name, x in named.items() if isinstance(x, Tensor) and name != "out"}

    def __call__(self) -> Tensor:
        """What torch returns; raises whatever torch raises."""
        if self.recipes is None:
            out = torch._scaled_mm(
                self.A, self.B, scale_a=self.scale_a, scale_b=self.scale_b, out_dtype=self.out_dtype, **self.more
            )
            # Before torch 2.5 the largest absolute value came along.
            result: Tensor = out[0] if isinstance(out, tuple) else out
            return result
        from torch.nn.functional import scaled_mm

        sides = (self.scale_a, self.recipes[0], self.scale_b, self.recipes[1])
        # None is the dtype of A, which not every version's annotation says.
        arguments: dict[str, Any] = {"output_dtype": self.out_dtype, **self.more}
        return scaled_mm(self.A, self.B, *sides, **arguments)


Four = tuple[Tensor, Tensor, Tensor, Tensor]
"""A [M, K], B [N, K], As and Bs, as every kernel of the suite gets them."""


def raw_v1(operands: Four, out_dtype: torch.dtype, recipe: str = "1x128-128x128") -> RawCall:
    """The call of upstream's kernel: M padded to 4 on CUDA, A scales column-major, B scales unpadded.

    Scales that cover all of K are one column, and nothing is padded.
    """
    A, B, As, Bs = operands
    if recipe in WHOLE_RECIPES:
        As, Bs = one_column(As), one_column(Bs)
    elif A.is_cuda and torch.version.hip is None:
        A, As = pad_rows(A, multiple=4), pad_scale_rows(As, multiple=4)
    return RawCall(A, B.t(), As, Bs.t(), out_dtype)


def raw_v2(operands: Four, out_dtype: torch.dtype, recipe: str = "1x128-128x128") -> RawCall:
    """The call with the recipe told; M is padded to 4 on CUDA, 128x128 scales are [kb padded to 4, blocks]."""
    from torch.nn.functional import ScalingType

    A, B, As, Bs = operands
    if recipe in WHOLE_RECIPES:
        kind = ScalingType.TensorWise if recipe == "tensorwise" else ScalingType.RowWise
        return RawCall(A, B.t(), one_column(As), one_column(Bs).t(), out_dtype, (kind, kind))
    a_blocked, b_blocked = (side == "128x128" for side in recipe.split("-"))
    if A.is_cuda:
        A, As = (pad_rows(A, multiple=4), As if a_blocked else pad_scale_rows(As, multiple=4))
    scale_a, scale_b = (_scale(s, blocked) for s, blocked in ((As, a_blocked), (Bs, b_blocked)))
    of_a, of_b = (
        ScalingType.BlockWise128x128 if blocked else ScalingType.BlockWise1x128 for blocked in (a_blocked, b_blocked)
    )
    return RawCall(A, B.t(), scale_a, scale_b, out_dtype, (of_a, of_b))


def raw_call(api: str, operands: Four, out_dtype: torch.dtype) -> RawCall:
    """The call of ``api``, "v1" or "v2", in the default recipe."""
    return (raw_v1 if api == "v1" else raw_v2)(operands, out_dtype)


def _scale(scale: Tensor, blocked: bool) -> Tensor:
    """A scale as v2 wants it: by row [R, kb] column-major; by block transposed, K blocks padded to 4 except on XPU."""
    if not blocked:
        return by_column(scale)
    multiple = 1 if scale.device.type == "xpu" else 4
    return pad_columns(scale, multiple=multiple).t()
