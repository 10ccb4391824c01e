"""The engines of the bit model: eager torch, right everywhere, and compiled ones, equal to it bit for bit and faster.

Compiled engines need a package that is not always there; they are imported when first asked for and chosen by
themselves. Nothing ever needs them for a right answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

import torch
from torch import Tensor

from reference.arithmetic import SM90, Arithmetic, ScaleOrder
from reference.blocks import BLOCK
from reference.dot import iter_block_products
from reference.promote import Chosen, promote
from reference.tiles import Tile


class Engine(Protocol):
    """One way to compute the bit model."""

    name: str

    def why_not(self, device: torch.device, arithmetic: Arithmetic) -> str | None:
        """Why this engine cannot compute ``arithmetic`` on ``device`` here, or None."""
        ...

    def products(self, A: Tensor, B: Tensor, arithmetic: Arithmetic) -> Iterator[tuple[Tile, Tensor]]:
        """The dot products between promotions, tile by tile, float32 [blocks, rows, cols]."""
        ...

    def promote(
        self,
        products: Tensor,
        sa: Tensor,
        sb: Tensor,
        splits: Sequence[int],
        *,
        order: ScaleOrder,
        fused: bool,
        chosen: Chosen | None,
    ) -> list[Tensor]:
        """The float32 results [rows, cols] under each of the ``splits``."""
        ...


class Eager:
    """Plain torch operations: every arithmetic, every device."""

    name = "eager"

    def why_not(self, device: torch.device, arithmetic: Arithmetic) -> str | None:
        """Always possible."""
        return None

    def products(self, A: Tensor, B: Tensor, arithmetic: Arithmetic) -> Iterator[tuple[Tile, Tensor]]:
        """See `reference.dot`."""
        return iter_block_products(A, B, arithmetic)

    def promote(
        self,
        products: Tensor,
        sa: Tensor,
        sb: Tensor,
        splits: Sequence[int],
        *,
        order: ScaleOrder,
        fused: bool,
        chosen: Chosen | None,
    ) -> list[Tensor]:
        """See `reference.promote`."""
        return [promote(products, sa, sb, order=order, split=split, fused=fused, chosen=chosen) for split in splits]


ENGINES = ("triton", "numba", "eager")
"""By name, fastest first."""
PACKAGES = {"triton": "triton", "numba": "numba"}


def is_plain(arithmetic: Arithmetic) -> bool:
    """Whether the compiled engines know ``arithmetic``: truncation throughout, 16 fraction bits at most, by K block."""
    return (
        arithmetic.alignment == arithmetic.normalisation == "truncate"
        and 6 <= arithmetic.fraction_bits <= 16
        and arithmetic.group in (16, 32)
        and arithmetic.promotion == BLOCK
        and arithmetic.scale_order != "b-then-a"
        and arithmetic.fused
    )


WORTH_COMPILING = 1 << 25
"""Multiply-accumulates from which a compiled engine is chosen by itself: below, loading it takes longer than eager."""


@cache
def load(name: str) -> Engine | str:
    """The engine called ``name``, or why it is not to be had here. Raises ValueError for an unknown name."""
    if name not in ENGINES:
        raise ValueError(f"unknown engine {name!r}; choose one of {', '.join(ENGINES)}")
    if name == "eager":
        return Eager()
    if find_spec(PACKAGES[name]) is None:
        return f"needs the package {PACKAGES[name]}"
    try:
        engine: Engine = import_module(f"reference.engines.{name}_engine").ENGINE
    except Exception as error:  # a package that is there and broken must not cost anybody a verdict
        return f"{PACKAGES[name]} cannot be used ({type(error).__name__}: {error})"
    return engine


@cache
def _fault_of(name: str, device: torch.device) -> str | None:
    """What is wrong with a compiled engine on ``device``, or None: it has to give eager's bits before it is trusted."""
    engine = load(name)
    assert not isinstance(engine, str)
    codes = torch.arange(7 * 160, device=device).mul(37).bitwise_and(0xFF).to(torch.uint8).reshape(7, 160)
    operand = torch.where(codes & 0x7F == 0x7F, 0, codes).view(torch.float8_e4m3fn)
    try:
        results = [unit.products(operand, operand, SM90) for unit in (engine, Eager())]
        compiled, eager = (torch.cat([part.flatten() for _, part in parts]) for parts in results)
    except Exception as error:  # a compiler may fail in any way
        return f"{PACKAGES[name]} fails here ({type(error).__name__}: {str(error)[:200]})"
    return None if torch.equal(compiled, eager) else f"{PACKAGES[name]} computes other bits than eager torch here"


def why_not(name: str, device: torch.device, arithmetic: Arithmetic) -> str | None:
    """Why the engine called ``name`` cannot compute ``arithmetic`` on ``device`` here, or None."""
    engine = load(name)
    if isinstance(engine, str):
        return engine
    return engine.why_not(device, arithmetic) or (_fault_of(name, device) if name != "eager" else None)


def engine_for(
    device: torch.device, arithmetic: Arithmetic, *, macs: int = WORTH_COMPILING, name: str | None = None
) -> Engine:
    """The fastest engine for a product of ``macs`` in ``arithmetic`` on ``device``, or the one called ``name``.

    Raises ValueError when that one is unknown or cannot compute this here.
    """
    by_itself = ENGINES if macs >= WORTH_COMPILING or device.type != "cpu" else ("eager",)
    for candidate in (name,) if name else by_itself:
        reason = why_not(candidate, device, arithmetic)
        if reason is None:
            engine = load(candidate)
            assert not isinstance(engine, str)
            return engine
        if name:
            raise ValueError(f"engine {name!r} cannot be used for {arithmetic.name} on {device.type}: {reason}")
    raise AssertionError("eager computes everything")
