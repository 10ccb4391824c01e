"""Fused multiply-add and rounding against rational arithmetic that rounds once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from reference import round_to
from reference.rounding import admissible_interval, fma, round_to_odd_sum

few = settings(derandomize=True, deadline=None, database=None, max_examples=150)


@dataclass(frozen=True)
class Target:
    """A binary format: significant bits, exponent of the smallest normal number, and of the largest."""

    precision: int
    min_exponent: int
    max_exponent: int

    def quantum(self, value: Fraction) -> Fraction:
        """Distance of neighbours around ``value``."""
        size = abs(value)
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        exponent -= Fraction(2) ** exponent > size
        return Fraction(2) ** (max(exponent, self.min_exponent) - self.precision + 1)

    def nearest(self, value: Fraction) -> float:
        """``value`` rounded to nearest even, once; infinite from half a unit above the largest number."""
        if value == 0:
            return 0.0
        quantum = self.quantum(value)
        rounded = round(value / quantum) * quantum
        if abs(rounded) >= Fraction(2) ** (self.max_exponent + 1):
            return math.copysign(math.inf, value)
        return float(rounded)


TARGETS = {
    torch.float32: Target(24, -126, 127),
    torch.bfloat16: Target(8, -126, 127),
    torch.float16: Target(11, -14, 15),
}
FLOAT32 = TARGETS[torch.float32]
every_dtype = pytest.mark.parametrize("dtype", list(TARGETS), ids=str)
float32s = st.floats(width=32, allow_nan=False, allow_infinity=False)
near_one = st.floats(min_value=-4, max_value=4, width=32)

DOUBLE_ROUNDED = [
    (4097.0, 4097.0, 2.0**-60),
    (4097.0, -4097.0, -(2.0**-100)),
    (4097.0, 4099.0, -(2.0**-60)),
    (4097.0 * 2.0**40, 4097.0 * 2.0**-20, 2.0**-30),
    (2.0**-12 + 2.0**-32, 2.0**-12 - 2.0**-32, 1 + 2.0**-23),
    (2.0**-12 + 2.0**-32, -(2.0**-12) + 2.0**-32, -1 - 2.0**-23),
    (2.0**-75 + 2.0**-95, 2.0**-75 - 2.0**-95, 2.0**-126 + 2.0**-149),
    (2.0**-75 + 2.0**-95, 2.0**-75 - 2.0**-95, 2.0**-127 + 2.0**-149),
]
"""x, y, z whose exact x*y + z lies so near a tie of float32 that float64 takes it for one."""


def tensor(value: float) -> Tensor:
    return torch.tensor(value, dtype=torch.float32)


def exact_fma(x: float, y: float, z: float) -> Fraction:
    return Fraction(x) * Fraction(y) + Fraction(z)


@pytest.mark.parametrize(("x", "y", "z"), DOUBLE_ROUNDED)
def test_fma_rounds_once_where_float64_rounds_twice(x: float, y: float, z: float) -> None:
    naive = (tensor(x).double() * tensor(y).double() + tensor(z).double()).float().item()

    actual = fma(tensor(x), tensor(y), tensor(z)).item()

    expected = FLOAT32.nearest(exact_fma(x, y, z))
    assert naive != expected, "the naive way is wrong here, so this case has teeth"
    assert actual == expected


@given(x=float32s, y=float32s, z=float32s)
@few
def test_fma_is_correctly_rounded_on_all_magnitudes(x: float, y: float, z: float) -> None:
    actual = fma(tensor(x), tensor(y), tensor(z)).item()

    assert actual == FLOAT32.nearest(exact_fma(x, y, z))


@given(x=near_one, y=near_one, z=near_one)
@few
def test_fma_is_correctly_rounded_on_overlapping_magnitudes(x: float, y: float, z: float) -> None:
    actual = fma(tensor(x), tensor(y), tensor(z)).item()

    assert actual == FLOAT32.nearest(exact_fma(x, y, z))


@given(
    mantissas=st.tuples(st.integers(2**11, 2**12 - 1), st.integers(2**12, 2**13 - 1)),
    gap=st.integers(-20, 110),
    sign=st.sampled_from([-1, 1]),
)
@few
def test_fma_is_correctly_rounded_beside_ties(mantissas: tuple[int, int], gap: int, sign: int) -> None:
    x, y = (2 * m + 1 for m in mantissas)
    z = sign * 2.0**-gap

    actual = fma(tensor(x), tensor(y), tensor(z)).item()

    assert actual == FLOAT32.nearest(exact_fma(x, y, z))


def test_fma_keeps_the_product_that_a_multiplication_rounds_away() -> None:
    x = tensor(1 + 2.0**-23)

    actual = fma(x, x, -(1 + 2 * tensor(2.0**-23))).item()

    assert actual == 2.0**-46


@pytest.mark.parametrize(
    ("x", "y", "z", "expected"),
    [
        (3e38, 2.0, 0.0, math.inf),
        (-3e38, 2.0, 1.0, -math.inf),
        (3e38, 2.0, -math.inf, -math.inf),
        (2.0**127, 2.0, -(2.0**127), 2.0**127),
        (2.0**-75, 2.0**-74, 0.0, 2.0**-149),
        (2.0**-75, 2.0**-75, 0.0, 0.0),
        (2.0**-75, 2.0**-75, 2.0**-149, 2.0**-148),
        (-(2.0**-75), 3 * 2.0**-75, 0.0, -(2.0**-148)),
        (2.0**-140, 0.5, 2.0**-141, 2.0**-140),
    ],
)
def test_fma_at_the_ends_of_the_range(x: float, y: float, z: float, expected: float) -> None:
    actual = fma(tensor(x), tensor(y), tensor(z)).item()

    assert actual == expected


@pytest.mark.parametrize(
    ("x", "y", "z", "negative"),
    [
        (0.0, 1.0, 0.0, False),
        (-0.0, 1.0, -0.0, True),
        (-0.0, 1.0, 0.0, False),
        (1.0, 1.0, -1.0, False),
        (-(2.0**-100), 2.0**-100, 0.0, True),
    ],
)
def test_fma_gives_zeros_their_sign(x: float, y: float, z: float, negative: bool) -> None:
    actual = fma(tensor(x), tensor(y), tensor(z))

    assert actual.item() == 0
    assert torch.signbit(actual).item() == negative


@pytest.mark.parametrize(("x", "y", "z"), [(math.nan, 1.0, 1.0), (math.inf, 0.0, 1.0), (math.inf, 1.0, -math.inf)])
def test_fma_of_nothing_defined_is_nan(x: float, y: float, z: float) -> None:
    actual = fma(tensor(x), tensor(y), tensor(z)).item()

    assert math.isnan(actual)


def test_fma_broadcasts() -> None:
    column, row = torch.tensor([[2.0], [3.0]]), torch.tensor([[5.0, 7.0]])

    actual = fma(column, row, tensor(1.0))

    assert actual.tolist() == [[11.0, 15.0], [16.0, 22.0]]


@given(
    x=st.floats(min_value=-1e30, max_value=1e30, allow_subnormal=False),
    y=st.floats(min_value=-1e30, max_value=1e30, allow_subnormal=False),
)
@few
def test_round_to_odd_is_exact_or_the_odd_neighbour(x: float, y: float) -> None:
    actual = round_to_odd_sum(torch.tensor(x, dtype=torch.float64), torch.tensor(y, dtype=torch.float64))

    exact = Fraction(x) + Fraction(y)
    value = Fraction(actual.item())
    if value != exact:
        assert actual.view(torch.int64).item() % 2 == 1
        assert abs(value - exact) < Fraction(math.ulp(actual.item()))


NEAR_TIES = [
    (torch.bfloat16, 1 + 2.0**-8 + 2.0**-40),
    (torch.bfloat16, 1 + 3 * 2.0**-8 - 2.0**-40),
    (torch.bfloat16, -1 - 2.0**-8 - 2.0**-52),
    (torch.bfloat16, 257 + 2.0**-30),
    (torch.bfloat16, 2.0**-134 + 2.0**-170),
    (torch.bfloat16, 3 * 2.0**-134 - 2.0**-180),
    (torch.bfloat16, 2.0**128 - 2.0**119 - 2.0**90),
    (torch.float16, 1 + 2.0**-11 + 2.0**-40),
    (torch.float16, 1 + 3 * 2.0**-11 - 2.0**-50),
    (torch.float16, -2049 - 2.0**-30),
    (torch.float16, 2.0**-25 + 2.0**-60),
    (torch.float16, 3 * 2.0**-25 - 2.0**-60),
    (torch.float16, 65520 - 2.0**-20),
]


@pytest.mark.parametrize(("dtype", "value"), NEAR_TIES, ids=str)
def test_round_to_rounds_once_where_float32_rounds_twice(dtype: torch.dtype, value: float) -> None:
    exact = torch.tensor(value, dtype=torch.float64)
    naive = exact.float().to(dtype).item()

    actual = round_to(exact, dtype)

    expected = TARGETS[dtype].nearest(Fraction(value))
    assert actual.dtype == dtype
    assert naive != expected, "the naive way is wrong here, so this case has teeth"
    assert actual.item() == expected


@every_dtype
@pytest.mark.parametrize("tail", [-1, 0, 1])
@pytest.mark.parametrize("exponent", [-150, -140, -126, -26, -14, 0, 9, 15, 100, 127])
def test_round_to_is_right_at_and_beside_every_kind_of_tie(dtype: torch.dtype, tail: int, exponent: int) -> None:
    steps = torch.arange(33, dtype=torch.float64) / 2 + 32
    tied = torch.cat([steps, -steps]) * 2.0**-5
    half = 2.0 ** -TARGETS[dtype].precision
    values = (tied + half * torch.tensor([0.0, 1.0, 2.0, 3.0], dtype=torch.float64)[:, None]) * (1 + tail * 2.0**-45)
    values = values * 2.0**exponent

    actual = round_to(values, dtype).double().flatten().tolist()

    expected = [TARGETS[dtype].nearest(Fraction(v)) for v in values.flatten().tolist()]
    assert actual == expected


@every_dtype
@given(value=st.floats(allow_nan=False, allow_infinity=False, min_value=-1e39, max_value=1e39))
@few
def test_round_to_is_correctly_rounded(dtype: torch.dtype, value: float) -> None:
    actual = round_to(torch.tensor(value, dtype=torch.float64), dtype).item()

    assert actual == TARGETS[dtype].nearest(Fraction(value))


@every_dtype
def test_round_to_keeps_what_is_no_number(dtype: torch.dtype) -> None:
    values = torch.tensor([math.nan, math.inf, -math.inf, -0.0], dtype=torch.float64)

    actual = round_to(values, dtype)

    assert actual[0].isnan()
    assert actual[1:].tolist() == [math.inf, -math.inf, 0.0]
    assert torch.signbit(actual[3])


def interval(exact: float, error: float, dtype: torch.dtype) -> tuple[float, float]:
    value, distance = torch.tensor([exact, error], dtype=torch.float64)
    low, high = admissible_interval(value, distance, dtype)
    return low.item(), high.item()


@pytest.mark.parametrize(
    ("dtype", "exact", "expected"),
    [
        (torch.bfloat16, 257.0, (256.0, 256.0)),
        (torch.bfloat16, -259.0, (-260.0, -260.0)),
        (torch.bfloat16, 256.0, (256.0, 256.0)),
        (torch.bfloat16, 256.9, (256.0, 256.0)),
        (torch.float16, 2049.0, (2048.0, 2048.0)),
        (torch.float16, 2048.0, (2048.0, 2048.0)),
        (torch.float16, 65520.0, (math.inf, math.inf)),
        (torch.float16, -65520.0, (-math.inf, -math.inf)),
        (torch.float32, 0.0, (0.0, 0.0)),
    ],
)
def test_interval_of_an_exact_value_is_its_correctly_rounded_result(
    dtype: torch.dtype, exact: float, expected: tuple[float, float]
) -> None:
    actual = interval(exact, 0.0, dtype)

    assert actual == expected


@pytest.mark.parametrize(
    ("dtype", "exact", "error", "expected"),
    [
        (torch.bfloat16, 256.0, 1.5, (254.0, 258.0)),
        (torch.bfloat16, 300.0, 10.0, (290.0, 310.0)),
        (torch.float16, 65000.0, 600.0, (64384.0, math.inf)),
        (torch.float32, 0.0, 2.0**-149, (-(2.0**-149), 2.0**-149)),
    ],
)
def test_interval_spans_the_error(
    dtype: torch.dtype, exact: float, error: float, expected: tuple[float, float]
) -> None:
    actual = interval(exact, error, dtype)

    assert actual == expected


@every_dtype
@given(
    exact=st.floats(min_value=-1e30, max_value=1e30),
    relative=st.floats(min_value=0, max_value=2),
    where=st.floats(min_value=-1, max_value=1),
)
@few
def test_interval_holds_every_rounded_value_within_the_error(
    dtype: torch.dtype, exact: float, relative: float, where: float
) -> None:
    error = abs(exact) * relative

    low, high = interval(exact, error, dtype)

    for value in (exact, exact + where * error):
        assert low <= TARGETS[dtype].nearest(Fraction(value)) <= high


@every_dtype
@given(exact=st.floats(min_value=2.0**-13, max_value=6e4), relative=st.floats(min_value=0, max_value=0.5))
@few
def test_interval_is_no_wider_than_the_error_and_one_float32(dtype: torch.dtype, exact: float, relative: float) -> None:
    slack = Fraction(exact) * (Fraction(relative) + Fraction(1, 2**22))

    low, high = interval(exact, exact * relative, dtype)

    assert low >= TARGETS[dtype].nearest(Fraction(exact) - slack)
    assert high <= TARGETS[dtype].nearest(Fraction(exact) + slack)


@pytest.mark.parametrize("exact", [0.0, 2.0**-30, -(2.0**-30)])
def test_interval_reaches_past_a_tie_that_float32_cannot_tell_from_its_end(exact: float) -> None:
    error = 1 + 2.0**-8 + 2.0**-25

    low, high = interval(exact, error, torch.bfloat16)

    assert low <= TARGETS[torch.bfloat16].nearest(Fraction(exact) - Fraction(error))
    assert high >= TARGETS[torch.bfloat16].nearest(Fraction(exact) + Fraction(error))


def test_interval_of_a_subnormal_beside_a_tie_holds_its_neighbour() -> None:
    exact, error = 2.0**-134 + 2.0**-160, 0.0

    _, high = interval(exact, error, torch.bfloat16)

    assert high >= TARGETS[torch.bfloat16].nearest(Fraction(exact) + Fraction(error))
