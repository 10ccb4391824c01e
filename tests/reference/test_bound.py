"""The error bound: every honest kernel stays within it, faults do not, and it is the one that was derived."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from cases.stream import Stream
from reference import (
    ARITHMETICS,
    SM90,
    Arithmetic,
    emulate_block_scaled_mm,
    error_bound,
    exact_block_matmul,
    expect,
    native_w8a8_block_matmul,
)

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
RECIPES = {"1x128-128x128": (1, 128), "128x128-1x128": (128, 1), "1x128-1x128": (1, 1)}
OUT_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
Operands = tuple[Tensor, Tensor, Tensor, Tensor]

every_recipe = pytest.mark.parametrize("recipe", list(RECIPES))


def stream(name: str) -> Stream:
    return Stream(f"bound/{name}", torch.device("cpu"))


def normal_values(name: str, rows: int, k: int) -> Tensor:
    return stream(name).normal(rows, k) * 4


def spread_values(name: str, rows: int, k: int) -> Tensor:
    """Normal values times 2^-6 .. 2^6, so that most products lie far below the largest."""
    return stream(name).normal(rows, k) * 2.0 ** (stream(f"{name}/spread").below(13, rows, k) - 6).float()


def one_sign(name: str, rows: int, k: int) -> Tensor:
    return normal_values(name, rows, k).abs()


def all_codes(name: str, rows: int, k: int) -> Tensor:
    codes = stream(name).octets(rows, k).view(E4M3).to(torch.float32)
    return codes.nan_to_num(nan=0.0)


DISTRIBUTIONS: dict[str, Callable[[str, int, int], Tensor]] = {
    "normal": normal_values,
    "spread": spread_values,
    "one-sign": one_sign,
    "all-codes": all_codes,
}
every_distribution = pytest.mark.parametrize("distribution", list(DISTRIBUTIONS))


def build(
    distribution: str,
    m: int = 12,
    n: int = 16,
    k: int = 1024,
    recipe: str = "1x128-128x128",
    dtypes: tuple[torch.dtype, torch.dtype] = (E4M3, E4M3),
) -> Operands:
    """Values of a ``distribution`` under independent scales between 2^-6 and 2^-3."""
    make, (a_rows, b_rows), kb = DISTRIBUTIONS[distribution], RECIPES[recipe], -(-k // 128)
    return (
        make(f"A/{distribution}", m, k).to(dtypes[0]),
        make(f"B/{distribution}", n, k).to(dtypes[1]),
        stream("As").floats(-6, -3, -(-m // a_rows), kb),
        stream("Bs").floats(-6, -3, -(-n // b_rows), kb),
    )


# Honest kernels of other hardware, for the recipe 1x128-128x128 and M, N <= 128.


@dataclass(frozen=True)
class Kernel:
    """What a legal kernel may choose. ``fraction_bits`` None accumulates in float64; ``lanes`` orders a K block."""

    group: int = 32
    fraction_bits: int | None = 13
    lanes: str = "forward"
    blocks: str = "forward"
    scales: str = "together"

    def __call__(self, args: Operands) -> Tensor:
        """The float32 result."""
        A, B, As, Bs = args
        a, b = A.to(torch.float32).double(), B.to(torch.float32).double()
        total = torch.zeros(a.shape[0], b.shape[0])
        for block in order(self.blocks, As.shape[1]):
            span = torch.arange(128 * block, min(128 * (block + 1), a.shape[1]))
            span = span[order(self.lanes, len(span))]
            product = self.block(a[:, span], b[:, span]).float()
            total = total + self.scaled(product, As[:, block, None], Bs[:, block])
        return total

    def scaled(self, product: Tensor, sa: Tensor, sb: Tensor) -> Tensor:
        """``product`` times its scales, rounded to float32 after every multiplication."""
        if self.scales == "a-first":
            return (product * sa) * sb
        if self.scales == "b-first":
            return (product * sb) * sa
        return product * (sa * sb)

    def block(self, a: Tensor, b: Tensor) -> Tensor:
        """One K block in float64 [M, N]: chained groups that align and truncate."""
        if self.fraction_bits is None:
            return a @ b.t()
        running = torch.zeros(a.shape[0], b.shape[0], dtype=torch.float64)
        for start in range(0, a.shape[1], self.group):
            span = slice(start, start + self.group)
            terms = a[:, None, span] * b[None, :, span]
            exponent = (code_exponent(a[:, span])[:, None] + code_exponent(b[:, span])[None]).amax(-1)
            quantum = torch.exp2(torch.maximum(exponent, value_exponent(running)) - self.fraction_bits)
            total = quantum * ((terms / quantum[..., None]).trunc().sum(-1) + (running / quantum).trunc())
            quantum = torch.exp2(value_exponent(total) - self.fraction_bits)
            running = (total / quantum).trunc() * quantum
        return running


def order(name: str, count: int) -> list[int]:
    """``count`` indices forward, backward, or permuted."""
    if name == "permuted":
        return stream(f"order/{count}").words(count).argsort().tolist()
    return list(range(count))[:: -1 if name == "backward" else 1]


def value_exponent(x: Tensor) -> Tensor:
    """``floor(log2|x|)`` as float64, far down for zeros."""
    return torch.where(x == 0, -200.0, (torch.frexp(x).exponent - 1).double())


def code_exponent(x: Tensor) -> Tensor:
    return torch.where(x == 0, -200.0, value_exponent(x).clamp(min=-6))


HONEST = {
    "hopper": Kernel(),
    "groups-of-16": Kernel(group=16),
    "permuted-lanes": Kernel(lanes="permuted"),
    "permuted-lanes-of-16": Kernel(group=16, lanes="permuted"),
    "backward": Kernel(lanes="backward", blocks="backward"),
    "permuted-blocks": Kernel(blocks="permuted"),
    "float64": Kernel(fraction_bits=None),
    "25-bits": Kernel(fraction_bits=25),
    "24-bits-of-16": Kernel(group=16, fraction_bits=24),
    "a-scale-first": Kernel(scales="a-first"),
    "b-scale-first": Kernel(scales="b-first", fraction_bits=None),
}


def test_the_simulated_hopper_kernel_is_near_the_bit_model() -> None:
    args = build("normal")

    actual, expected = HONEST["hopper"](args), emulate_block_scaled_mm(*args, out_dtype=torch.float32)

    torch.testing.assert_close(actual, expected, rtol=0, atol=2.0**-23 * 8 * expected.abs().max().item())


@every_distribution
@pytest.mark.parametrize("kernel", list(HONEST))
def test_honest_kernels_are_within_the_undeclared_bound(distribution: str, kernel: str) -> None:
    args = build(distribution)
    result, exact = HONEST[kernel](args), exact_block_matmul(*args)

    for dtype in (torch.float32, torch.bfloat16):
        distance = (result.to(dtype).double() - exact).abs()
        bound = error_bound(*args, arithmetic=None, out_dtype=dtype)
        assert (distance <= bound).all(), f"{(distance / bound).max():.3f} of the bound in {dtype}"


@every_distribution
@pytest.mark.parametrize("arithmetic", [SM90, None], ids=["sm90", "undeclared"])
def test_the_reference_and_the_bit_model_are_within_the_bound(distribution: str, arithmetic: Arithmetic | None) -> None:
    args = build(distribution, m=5, n=150, k=456)
    exact = exact_block_matmul(*args)

    for dtype in OUT_DTYPES:
        bound = error_bound(*args, arithmetic=arithmetic, out_dtype=dtype)
        for result in (
            emulate_block_scaled_mm(*args, out_dtype=dtype),
            emulate_block_scaled_mm(*args, out_dtype=dtype, split_k=1),
            native_w8a8_block_matmul(*args, (128, 128), dtype),
        ):
            assert ((result.double() - exact).abs() <= bound).all()


@every_recipe
@pytest.mark.parametrize("dtypes", [(E4M3, E4M3), (E5M2, E4M3), (E5M2, E5M2)], ids=str)
def test_the_bit_model_is_within_its_bound_in_every_recipe_and_format(
    recipe: str, dtypes: tuple[torch.dtype, torch.dtype]
) -> None:
    args = build("spread", m=130, n=131, k=400, recipe=recipe, dtypes=dtypes)
    exact = exact_block_matmul(*args, recipe=recipe)

    actual = emulate_block_scaled_mm(*args, recipe=recipe, out_dtype=torch.float32)

    bound = error_bound(*args, recipe=recipe, arithmetic=SM90, out_dtype=torch.float32)
    assert ((actual.double() - exact).abs() <= bound).all()


# The bound as derived, one element at a time in rational numbers.


def floor_log2(value: Fraction) -> int:
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    return exponent - (Fraction(2) ** exponent > value)


def slow_walk(a: list[Fraction], b: list[Fraction], group: int, bits: int) -> Fraction:
    """E_b of docs/arithmetic.md for E4M3 operands, walked in the order given; no group may hold zeros alone."""
    total, error = Fraction(0), Fraction(0)
    for start in range(0, len(a), group):
        group_pairs = zip(a[start : start + group], b[start : start + group], strict=True)
        pairs = [(x, y) for x, y in group_pairs if x * y != 0]
        exponents = [max(floor_log2(abs(x)), -6) + max(floor_log2(abs(y)), -6) for x, y in pairs]
        largest = max(exponents + ([floor_log2(abs(total) + error)] if start else []))
        cut = sum(exponent - 6 < largest - bits for exponent in exponents) + (1 if start else 0)
        total += sum(x * y for x, y in pairs)
        error += cut * Fraction(2) ** (largest - bits)
        error += Fraction(2) ** (floor_log2(abs(total) + error) - min(bits, 23))
    return error


def slow_error(args: Operands, m: int, n: int, arithmetic: Arithmetic | None) -> Fraction:
    A, B, As, Bs = args
    a, b = ([Fraction(v) for v in row.to(torch.float32).tolist()] for row in (A[m], B[n]))
    kb = As.shape[1]
    u, roundings = Fraction(1, 2**24), 2 * kb + 3
    gamma = roundings * u / (1 - roundings * u)
    result = Fraction(0)
    for i in range(kb):
        x, y = a[128 * i :][:128], b[128 * i :][:128]
        gross = sum((abs(p * q) for p, q in zip(x, y, strict=True)), Fraction(0))
        if arithmetic is not None:
            alignment = slow_walk(x, y, arithmetic.group, arithmetic.fraction_bits)
        else:
            walks = [slow_walk(p, q, group, 13) for group in (16, 32) for p, q in ((x, y), (x[::-1], y[::-1]))]
            alignment = 2 * max(walks) + 128 * u * gross
        scale = abs(Fraction(As[m, i].item()) * Fraction(Bs[0, i].item()))
        underflow = Fraction(1, 2**150) * (gross + roundings)
        result += scale * (gamma * (gross + alignment) + alignment) + underflow
    return result


DERIVED = {
    "undeclared": None,
    "sm90": SM90,
    "groups-of-16": Arithmetic("groups-of-16", group=16, fraction_bits=13, source="this test"),
    "few-bits": Arithmetic("few-bits", group=32, fraction_bits=10, source="this test"),
    "many-bits": Arithmetic("many-bits", group=32, fraction_bits=25, source="this test"),
}


@pytest.mark.parametrize("arithmetic", DERIVED.values(), ids=list(DERIVED))
@pytest.mark.parametrize("distribution", ["normal", "spread"])
@pytest.mark.parametrize("exponent", [0, -70], ids=["ordinary", "underflowing"])
def test_the_error_is_the_one_of_the_derivation(
    distribution: str, arithmetic: Arithmetic | None, exponent: int
) -> None:
    A, B, As, Bs = build(distribution, m=3, n=4, k=384)
    As[1] *= -1
    args = A, B, As * 2.0**exponent, Bs * 2.0**exponent

    actual = expect(*args, arithmetic=arithmetic).error.tolist()

    expected = [[float(slow_error(args, m, n, arithmetic)) for n in range(4)] for m in range(3)]
    assert [v for row in actual for v in row] == pytest.approx([v for row in expected for v in row], rel=1e-12, abs=0)


def test_zero_products_are_never_cut() -> None:
    A, B, As, Bs = build("normal", m=3, n=4, k=384)
    sparse = torch.where(stream("mask").below(4, 3, 384) == 0, 0.0, A.to(torch.float32)).to(E4M3)
    args = sparse, B, As, Bs

    actual = expect(*args, arithmetic=SM90).error.tolist()

    expected = [[float(slow_error(args, m, n, SM90)) for n in range(4)] for m in range(3)]
    assert [v for row in actual for v in row] == pytest.approx([v for row in expected for v in row], rel=1e-12)


def test_a_product_of_scales_that_vanishes_is_within_the_bound() -> None:
    one, tiny = torch.ones(1, 128).to(E4M3), torch.full((1, 1), 2.0**-76)
    exact = exact_block_matmul(one, one, tiny, tiny)

    actual = error_bound(one, one, tiny, tiny, arithmetic=SM90, out_dtype=torch.float32)

    assert emulate_block_scaled_mm(one, one, tiny, tiny, out_dtype=torch.float32).item() == 0
    assert exact.item() == 128 * 2.0**-152 <= actual.item()


@every_distribution
@pytest.mark.parametrize("arithmetic", ARITHMETICS.values(), ids=lambda a: a.name)
def test_every_arithmetic_is_within_its_own_bound(distribution: str, arithmetic: Arithmetic) -> None:
    args = build(distribution, k=456)
    expectation = expect(*args, arithmetic=arithmetic)

    actual = emulate_block_scaled_mm(*args, out_dtype=torch.float32, arithmetic=arithmetic)

    assert ((actual.double() - expectation.exact).abs() <= expectation.error).all()


def test_the_error_holds_what_more_fraction_bits_than_float32_lose_in_float32() -> None:
    unit = Arithmetic("wide", group=16, fraction_bits=25, source="this test")
    a, b = torch.zeros(1, 128), torch.zeros(1, 128)
    a[0, 0], b[0, 0] = 16.0, 8.0
    a[0, 1::16], b[0, 1::16] = 2.0**-9, 3 * 2.0**-9
    scales = torch.tensor([[1 + 819 * 2.0**-23]]), torch.tensor([[1 + 5 * 2.0**-13]])
    args = a.to(E4M3), b.to(E4M3), *scales
    expectation = expect(*args, arithmetic=unit)

    actual = emulate_block_scaled_mm(*args, out_dtype=torch.float32, arithmetic=unit).double()

    assert ((actual - expectation.exact).abs() <= expectation.error).all(), "the running value keeps 24 bits, not 26"


def test_the_expectation_holds_the_exact_value() -> None:
    args = build("normal", m=5, n=150, k=456)

    actual = expect(*args, arithmetic=SM90).exact

    torch.testing.assert_close(actual, exact_block_matmul(*args), rtol=2.0**-48, atol=2.0**-40)


def test_the_bound_is_the_far_end_of_the_interval() -> None:
    args = build("normal", m=3, n=4, k=256)
    expectation = expect(*args, arithmetic=SM90)

    actual = error_bound(*args, arithmetic=SM90, out_dtype=torch.bfloat16)

    low, high = expectation.interval(torch.bfloat16)
    assert torch.equal(actual, torch.maximum(high - expectation.exact, expectation.exact - low))


def test_the_bound_is_infinite_where_the_output_may_overflow() -> None:
    one = torch.ones(1, 128).to(E4M3)

    actual = error_bound(
        one, one, torch.tensor([[512.0]]), torch.ones(1, 1), arithmetic=SM90, out_dtype=torch.float16
    ).item()

    assert actual == math.inf


@pytest.mark.parametrize("limit", [1, 7, 100])
@pytest.mark.parametrize("arithmetic", [SM90, None], ids=["sm90", "undeclared"])
def test_tile_size_does_not_matter(monkeypatch: pytest.MonkeyPatch, limit: int, arithmetic: Arithmetic | None) -> None:
    args = build("spread", m=5, n=6, k=300)
    expected = expect(*args, arithmetic=arithmetic)

    monkeypatch.setattr("reference.tiles.CPU_TILE", limit)
    actual = expect(*args, arithmetic=arithmetic)

    torch.testing.assert_close(actual.exact, expected.exact, rtol=2.0**-48, atol=2.0**-40)
    torch.testing.assert_close(actual.error, expected.error, rtol=2.0**-48, atol=0)


# What the bound sees.


def share_outside(result: Tensor, args: Operands, arithmetic: Arithmetic | None) -> float:
    """Share of elements of ``result`` that no right kernel may return."""
    low, high = expect(*args, arithmetic=arithmetic).interval(result.dtype)
    return ((result.double() < low) | (result.double() > high)).double().mean().item()


def without_block(args: Operands, block: int) -> Operands:
    A, B, As, Bs = args
    kept = A.to(torch.float32)
    kept[:, 128 * block : 128 * (block + 1)] = 0
    return kept.to(A.dtype), B, As, Bs


def with_flipped_block(args: Operands, block: int) -> Operands:
    A, B, As, Bs = args
    flipped = A.to(torch.float32)
    flipped[:, 128 * block : 128 * (block + 1)] *= -1
    return flipped.to(A.dtype), B, As, Bs


DECLARED = {"lost-block": 0.88}
UNDECLARED = {"lost-block": 0.75, "zeroed": 0.97}
"""Least share of elements in which a fault is seen, where it is not the usual one."""
FAULTS: dict[str, Callable[[Operands], Tensor]] = {
    "zeroed": lambda args: torch.zeros(args[0].shape[0], args[1].shape[0], dtype=torch.bfloat16),
    "wrong-sign": lambda args: -emulate_block_scaled_mm(*args, out_dtype=torch.bfloat16),
    "lost-block": lambda args: emulate_block_scaled_mm(*without_block(args, 3), out_dtype=torch.bfloat16),
    "wrong-sign-of-a-block": lambda args: emulate_block_scaled_mm(
        *with_flipped_block(args, 5), out_dtype=torch.bfloat16
    ),
    "scales-of-the-next-row": lambda args: emulate_block_scaled_mm(
        args[0], args[1], args[2].roll(1, 0), args[3], out_dtype=torch.bfloat16
    ),
    "scales-of-the-next-block": lambda args: emulate_block_scaled_mm(
        args[0], args[1], args[2], args[3].roll(1, 1), out_dtype=torch.bfloat16
    ),
}


@every_distribution
@pytest.mark.parametrize("fault", list(FAULTS))
def test_faults_are_seen_in_most_elements(distribution: str, fault: str) -> None:
    args = build(distribution, m=64, n=64)
    result = FAULTS[fault](args)

    assert share_outside(result, args, SM90) >= DECLARED.get(fault, 0.97)
    assert share_outside(result, args, None) >= UNDECLARED.get(fault, 0.93)


@pytest.mark.parametrize(("distribution", "least"), [("normal", 0.03), ("one-sign", 0.1)])
def test_a_store_that_truncates_is_seen(distribution: str, least: float) -> None:
    args = build(distribution, m=64, n=64)
    result = emulate_block_scaled_mm(*args, out_dtype=torch.float32)

    truncated = (result.view(torch.int32) & -0x10000).view(torch.float32).bfloat16()

    assert share_outside(truncated, args, SM90) >= least
    assert share_outside(result.bfloat16(), args, SM90) == 0


def test_one_lost_product_is_seen_where_the_arithmetic_is_declared() -> None:
    args = build("normal", m=64, n=64)
    A, B, As, Bs = args
    kept = A.to(torch.float32)
    kept[:, 200] = 0
    result = emulate_block_scaled_mm(kept.to(A.dtype), B, As, Bs, out_dtype=torch.float32)

    actual = share_outside(result, args, SM90)

    assert actual >= 0.7
