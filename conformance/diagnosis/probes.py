"""Probes: tiny products whose value says which arithmetic computed them."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cases import Problem
from conformance.backends.protocol import Backend
from conformance.foreign import attempt
from reference import ARITHMETICS, Arithmetic, emulate_block_scaled_mm

SIDE = 16
"""Rows and columns of a probe: the least that every API takes; only element (0, 0) is looked at."""
ONES = dict.fromkeys(range(32), (1.0, 1.0))


@dataclass(frozen=True)
class Probe:
    """One product: ``terms`` maps k to (a, b), all else is zero; ``sa`` and ``sb`` are the scales of the K blocks."""

    name: str
    asks: str
    k: int
    terms: dict[int, tuple[float, float]]
    sa: Sequence[float] = ()
    sb: Sequence[float] = ()
    out: str = "fp32"

    @property
    def problem(self) -> Problem:
        """The problem that the probe is one element of."""
        return Problem(SIDE, SIDE, self.k, out=self.out)

    def operands(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """A, B [16, K] in e4m3fn, As [16, kb] column-major and Bs [1, kb]."""
        a, b = (torch.zeros(SIDE, self.k, dtype=torch.float32) for _ in range(2))
        for k, (x, y) in self.terms.items():
            a[0, k], b[0, k] = x, y
        blocks = self.problem.k_blocks
        sa, sb = (torch.tensor(list(s) or [1.0] * blocks, dtype=torch.float32) for s in (self.sa, self.sb))
        scales = sa[:, None].expand(blocks, SIDE).contiguous().t(), sb[None, :].contiguous()
        codes = (x.to(torch.float8_e4m3fn) for x in (a, b))
        A, B, As, Bs = (x.to(device) for x in (*codes, *scales))
        return A, B, As, Bs

    def expected(self, arithmetic: Arithmetic) -> float:
        """What ``arithmetic`` gives."""
        operands = self.operands(torch.device("cpu"))
        return float(emulate_block_scaled_mm(*operands, out_dtype=self.problem.out_dtype, arithmetic=arithmetic)[0, 0])


def _at(start: int) -> dict[int, tuple[float, float]]:
    return {start + k: term for k, term in ONES.items()}


def _single(bits: int) -> float:
    value: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    return value


def probes() -> Iterator[Probe]:
    """All probes, from coarse to fine."""
    large = {0: (256.0, 64.0)}
    yield Probe("stagnation", "promotion at all?", 32768, dict.fromkeys(range(32768), (1.0, 1.0)))
    yield Probe("alignment", "bits below the largest product?", 128, {**_at(0), **large})
    yield Probe("chained", "running value aligned, too?", 128, {**large, **_at(32)})
    for interval in range(1, 9):
        start = 32 * interval
        yield Probe(f"promotion-{start}", "promoted by here?", 384, {**large, **_at(start)})
    top = {0: (240.0, 64.0), 1: (120.0, 8.0), 2: (60.0, 1.0)}
    yield Probe("not-monotone", "are sums cut?", 128, {**top, 3: (3.0, 1.0), **_at(32)})
    yield Probe("not-monotone-up", "does more make less?", 128, {**top, 3: (4.0, 1.0), **_at(32)})
    scales = [_single(0x3FF28F25)], [_single(0x3FE5EDF4)]
    yield Probe("scale-order", "which scale first?", 128, {0: (11.0, 13.0)}, *scales)
    cancelling = {0: (-13.0, 15.0), 128: (13.0, 15.0)}
    yield Probe("fused", "promotion fused?", 256, cancelling, [1.0, _single(0x3FCD162C)])
    for i, j in ((0, 7), (2, 5), (4, 1)):
        marks = [1.0] * 8
        marks[i], marks[j] = 2.0**40, -(2.0**40)
        terms = {128 * block: (1.0, 1.0) for block in range(8)}
        yield Probe(f"block-order-{i}-{j}", "order of K blocks?", 1024, terms, marks)
    yield Probe("bf16-tie-257", "ties to even?", 128, {0: (256.0, 1.0), 1: (1.0, 1.0)}, out="bf16")
    yield Probe("bf16-tie-259", "ties to even?", 128, {0: (256.0, 1.0), 1: (3.0, 1.0)}, out="bf16")
    # 448 * 144 = 64512 in one K block, the rest in the next: neither is cut.
    largest = {0: (448.0, 144.0)}
    rest = {128: (30.0, 32.0), 129: (15.0, 3.0), 130: (2.0, 1.0)}
    yield Probe("fp16-65519", "still finite?", 256, {**largest, **rest}, out="fp16")
    yield Probe("fp16-65520", "overflow here?", 256, {**largest, 128: (14.0, 72.0)}, out="fp16")


@dataclass(frozen=True)
class Answer:
    """What a backend gave for a probe, and which arithmetics would have given it."""

    probe: Probe
    value: float
    fits: tuple[str, ...]


def ask(backend: Backend, device: torch.device) -> list[Answer]:
    """Put every probe to ``backend``. A backend that raises or returns no such matrix answers NaN."""
    return [_answer(probe, backend, device) for probe in probes()]


def _answer(probe: Probe, backend: Backend, device: torch.device) -> Answer:
    done = attempt(lambda: float(backend.apply(probe.operands(device), probe.problem)[0, 0]))  # type: ignore[index]
    value = float("nan") if done.value is None else done.value
    fits = tuple(a.name for a in ARITHMETICS.values() if probe.expected(a) == value)
    return Answer(probe, value, fits)


def consistent(answers: Sequence[Answer]) -> tuple[str, ...]:
    """The arithmetics that give every answer."""
    return tuple(name for name in ARITHMETICS if all(name in answer.fits for answer in answers))
