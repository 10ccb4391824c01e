"""What a kernel returned: a plain tensor that can be looked at, or a sentence about what came in its place.

Nothing but a plain tensor goes on to the comparisons, which ask results for strides, storage and bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from conformance.verdict import Reason

PLAIN = (Tensor, torch.nn.Parameter)


@dataclass(frozen=True)
class Unusable:
    """A return value that no product can be read from: the reason, what came, and what to return or do instead."""

    reason: Reason
    what: str
    instead: str = "return"


def received(came: object) -> object:
    """``came`` where it is a plain tensor, else an `Unusable`. One that was settled already stays what it is."""
    if isinstance(came, Unusable):
        return came
    if came is None:
        return Unusable("nothing-returned", "nothing came (None)")
    if type(came) in PLAIN:
        assert isinstance(came, Tensor)
        return _oddity(came) or came
    kind = f"{type(came).__module__}.{type(came).__qualname__}".removeprefix("builtins.")
    if issubclass(type(came), Tensor):
        return Unusable("tensor-subclass", f"a tensor of the subclass {kind} came", "return it without that, as")
    return Unusable("not-a-tensor", f"a {kind} came, not a tensor")


def _oddity(x: Tensor) -> Unusable | None:
    """What makes ``x``, a tensor of no subclass, another thing than a matrix in memory, or None."""
    if x.is_nested or x.layout != torch.strided:
        layout = "nested" if x.is_nested else str(x.layout)
        return Unusable("not-strided", f"a tensor of layout {layout} came", "return it dense, as")
    if x.is_meta:
        return Unusable("wrong-device", "the result is on meta, where tensors have no contents")
    if x.is_quantized:
        return Unusable("wrong-dtype", f"the result is {x.dtype}, a quantised dtype")
    if x.requires_grad:
        return Unusable(
            "requires-grad", "a tensor that requires grad came, and no operand does", "return it detached, as"
        )
    if x.is_neg() or x.is_conj():
        return Unusable("not-plain", "a tensor came whose sign is still to be applied")
    if x.numel() and not x.untyped_storage().nbytes():
        return Unusable("not-plain", "a tensor came whose memory was given back")
    return None
