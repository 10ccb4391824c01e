"""From a case for a linear to its tensors: the same values on every device and version of torch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from cases.fill.tags import tags
from cases.linears.case import LinearCase
from cases.linears.families import LARGEST, W_TAGS
from cases.operands import Operands, digest_of
from cases.quantising.granularity import Granularity
from cases.quantising.groups import Groups
from cases.stream import Stream
from reference.blocks import BLOCK
from reference.dot import power_of_two
from reference.exactness import why_not_exact
from reference.formats import E4M3FN, clamping_cast, decode

TOKENS = Granularity("token-group128", 1, BLOCK)
SPECIALS = (torch.nan, torch.inf, -torch.inf)
RARE = 8
"""One column of the weight in so many has more than zeros where x has its largest elements: the others stay small."""


@dataclass(frozen=True)
class Given:
    """x [M, K], the weight [N, K] with its scales [nb, kb], the bias [N] or None, as the linear is given them.

    ``operands`` are what every right quantiser makes of it: each group of x holds the largest code times a power of
    two, so that its scale is that power and every element over it is a code.
    """

    x: Tensor
    bias: Tensor | None
    operands: Operands

    @property
    def digest(self) -> str:
        """16 hex digits over everything that is given."""
        more = () if self.bias is None else (self.bias,)
        return digest_of(self.x, self.operands.B, self.operands.Bs, *more)


def build_given(case: LinearCase, *, seed: int = 0, device: torch.device | str = "cpu") -> Given:
    """The tensors of ``case``. Raises AssertionError unless quantised in one way, and exact where the family is."""
    stream = Stream(f"{case.inputs}/{seed}", torch.device(device))
    drawn = _Drawn(case, stream)
    codes, scales = drawn.x()
    wide = drawn.values(codes).double() * drawn.groups.spread(scales).double()
    x = wide.to(case.problem.out_dtype)
    assert torch.equal(torch.nan_to_num(x.double()), torch.nan_to_num(wide)), f"{case.id}: x is rounded"
    weight, weight_scale = drawn.weight()
    operands = Operands(codes, weight, scales, weight_scale, digest_of(codes, weight, scales, weight_scale))
    if case.tier == "exact":
        reason = why_not_exact(*operands.tensors)
        assert reason is None, f"{case.id} is not exact: {reason}"
    return Given(drawn.planted(x), drawn.bias() if case.has_bias else None, operands)


@dataclass(frozen=True)
class _Drawn:
    case: LinearCase
    stream: Stream

    @property
    def groups(self) -> Groups:
        return Groups(TOKENS, self.case.problem.m, self.case.problem.k, self.stream.device)

    def x(self) -> tuple[Tensor, Tensor]:
        """Codes [M, K] and scales [M, kb] of x."""
        problem = self.case.problem
        codes = self._codes("x", problem.m, problem.k, self._limits[0])
        lanes = self._lanes()
        signs = 1 - 2 * self.stream.child("signs").below(2, problem.m, len(lanes)).float()
        codes[:, lanes] = signs * LARGEST
        # 1, 2 and 4; or 2^-13 to 2^4, where no sum is over more than one of them.
        limit, off = (18, 14) if self.case.family.name == "lone-blocks" else (3, 1)
        scales = power_of_two(tags(self.stream.child("scales"), problem.m, len(lanes), limit=limit) - off)
        if self.case.family.name == "zero-groups":
            zero = self._zero_groups()
            codes = torch.where(self.groups.spread(zero), codes * 0, codes)
        if self.case.family.is_special:
            codes[self._place()] = torch.nan
        return clamping_cast(codes, E4M3FN.dtype), scales

    def values(self, codes: Tensor) -> Tensor:
        """What is quantised to ``codes``: the same, or halfway values, ties of which the even codes win."""
        plain = decode(codes)
        if self.case.family.name != "ties":
            return plain
        magnitude = plain.abs()
        # From 8 on codes are one apart, so the halves beside an even one are its own; there are none beside an odd one.
        beside = (magnitude >= 8) & (magnitude <= 12) & (magnitude % 2 == 0)
        outwards = self.stream.child("outwards").below(2, *plain.shape) == 1
        half = torch.where(outwards | (magnitude == 8), 0.5, -0.5)
        return torch.where(beside, torch.copysign(magnitude + half, plain), plain)

    def weight(self) -> tuple[Tensor, Tensor]:
        """Codes [N, K] and scales [nb, kb] of the weight."""
        n, k = self.case.problem.n, self.case.problem.k
        codes = self._codes("weight", n, k, self._limits[1])
        blocks = -(-n // BLOCK), -(-k // BLOCK)
        if self.case.family.codes is None:
            return clamping_cast(codes, E4M3FN.dtype), self.stream.child("weight/scales").floats(-10, -4, *blocks)
        column = torch.arange(n, device=self.stream.device)[:, None]
        lanes = self._lanes()
        codes[:, lanes] = torch.where(column % RARE != 0, 0.0, codes[:, lanes])
        if self.case.family.name == "lone-blocks":
            block = torch.arange(k, device=self.stream.device) // BLOCK
            codes = torch.where(column % blocks[1] == block, codes, 0.0)
        return clamping_cast(codes, E4M3FN.dtype), tags(self.stream.child("weight/scales"), *blocks, limit=W_TAGS)

    def bias(self) -> Tensor:
        """Numbers of 8 bits and either sign, between 32 and 1020, in the dtype of the output."""
        n = self.case.problem.n
        stream = self.stream.child("bias")
        mantissa = 128 + stream.child("mantissa").below(128, n)
        exponent = stream.child("exponent").below(5, n) - 2
        sign = 1 - 2 * stream.child("sign").below(2, n)
        return ((sign * mantissa).float() * power_of_two(exponent)).to(self.case.problem.out_dtype)

    def planted(self, x: Tensor) -> Tensor:
        """``x`` with the one value that is not finite, where the family has one."""
        if self.case.family.is_special:
            x[self._place()] = SPECIALS[self.case.seed % len(SPECIALS)]
        return x

    @property
    def _limits(self) -> tuple[int, int]:
        return self.case.family.codes or (0, 0)

    def _codes(self, name: str, rows: int, columns: int, limit: int) -> Tensor:
        """Codes as numbers: those of the whole format, {-1, 0, 1}, or integers to ``limit`` without zero."""
        stream = self.stream.child(name)
        if not limit:
            finite = E4M3FN.values[E4M3FN.values.isfinite()].to(stream.device)
            return finite[stream.below(len(finite), rows, columns)]
        if limit == 1:
            return (stream.below(3, rows, columns) - 1).float()
        sign = 1 - 2 * stream.child("sign").below(2, rows, columns)
        return (sign * (1 + stream.below(limit, rows, columns))).float()

    def _lanes(self) -> Tensor:
        """The element of every K block that is the largest in all rows."""
        k = self.case.problem.k
        start = torch.arange(-(-k // BLOCK), device=self.stream.device) * BLOCK
        return start + self.stream.child("lanes").below(1 << 30, len(start)) % (k - start).clamp(max=BLOCK)

    def _zero_groups(self) -> Tensor:
        zero = self.stream.child("zeros").below(2, *self.groups.shape) == 0
        zero[::2] = True
        zero[1::2, :1] = True
        return zero

    def _place(self) -> tuple[int, int]:
        return _place_of(self.case)


def _place_of(case: LinearCase) -> tuple[int, int]:
    """Where the value that is not finite is: in the last element, and in others before it."""
    place, problem = case.seed // len(SPECIALS), case.problem
    return (problem.m - 1 - place * 37) % problem.m, (problem.k - 1 - place * 59) % problem.k


def note(case: LinearCase) -> str:
    """What a failure has to name."""
    row, column = _place_of(case)
    return f"the one special value is {SPECIALS[case.seed % len(SPECIALS)]} at x[{row}, {column}]"
