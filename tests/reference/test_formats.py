"""The decoding of all FP8 codes, their multiplier exponents, and casts that clamp."""

from __future__ import annotations

import math

import pytest
import torch

from cases.stream import Stream
from reference.formats import FORMATS, clamping_cast, decode, exponents, format_of

DTYPES = {
    "e4m3fn": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
    "e4m3fnuz": torch.float8_e4m3fnuz,
    "e5m2fnuz": torch.float8_e5m2fnuz,
}
NAN_CODES = {
    "e4m3fn": [0x7F, 0xFF],
    "e5m2": [0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF],
    "e4m3fnuz": [0x80],
    "e5m2fnuz": [0x80],
}
LARGEST = {"e4m3fn": 448.0, "e5m2": 57344.0, "e4m3fnuz": 240.0, "e5m2fnuz": 57344.0}
SMALLEST_NORMAL = {"e4m3fn": -6, "e5m2": -14, "e4m3fnuz": -7, "e5m2fnuz": -15}

every_format = pytest.mark.parametrize("name", list(DTYPES))


def all_codes(name: str) -> torch.Tensor:
    return torch.arange(256, dtype=torch.uint8).view(DTYPES[name])


def test_the_formats_are_the_four_of_torch() -> None:
    actual = {name: fmt.dtype for name, fmt in FORMATS.items()}

    assert actual == DTYPES


@every_format
def test_decode_equals_the_cast_of_torch_on_every_code(name: str) -> None:
    codes = all_codes(name)

    actual, expected = decode(codes), codes.to(torch.float32)

    torch.testing.assert_close(actual, expected, rtol=0, atol=0, equal_nan=True)
    signs = torch.signbit(expected) == torch.signbit(actual)
    assert signs[~expected.isnan()].all()


@every_format
def test_nan_codes(name: str) -> None:
    actual = decode(all_codes(name)).isnan().nonzero().flatten().tolist()

    assert actual == NAN_CODES[name]


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("e4m3fn", 0x7E, 448.0),
        ("e4m3fn", 0xFE, -448.0),
        ("e4m3fn", 0x08, 2.0**-6),
        ("e4m3fn", 0x07, 7 * 2.0**-9),
        ("e4m3fn", 0x01, 2.0**-9),
        ("e4m3fn", 0x38, 1.0),
        ("e5m2", 0x7B, 57344.0),
        ("e5m2", 0x7C, math.inf),
        ("e5m2", 0xFC, -math.inf),
        ("e5m2", 0x01, 2.0**-16),
        ("e5m2", 0x3C, 1.0),
        ("e4m3fnuz", 0x7F, 240.0),
        ("e4m3fnuz", 0xFF, -240.0),
        ("e4m3fnuz", 0x01, 2.0**-10),
        ("e4m3fnuz", 0x40, 1.0),
        ("e5m2fnuz", 0x7F, 57344.0),
        ("e5m2fnuz", 0x01, 2.0**-17),
        ("e5m2fnuz", 0x40, 1.0),
    ],
)
def test_decode_gives_the_values_of_the_specification(name: str, code: int, expected: float) -> None:
    actual = decode(all_codes(name))[code].item()

    assert actual == expected


@every_format
def test_max_is_the_largest_finite_value(name: str) -> None:
    values = all_codes(name).to(torch.float32)

    expected = values[torch.isfinite(values)].max().item()

    assert FORMATS[name].max == expected == LARGEST[name]


@pytest.mark.parametrize(("name", "expected"), [("e4m3fn", 448.0), ("e5m2", 57344.0), ("e4m3fnuz", 224.0)])
def test_quantisers_scale_to_the_limit_of_upstream(name: str, expected: float) -> None:
    actual = FORMATS[name].quant_max

    assert actual == expected


def test_decode_keeps_shape_and_takes_any_strides() -> None:
    codes = all_codes("e4m3fn").reshape(16, 16)

    actual = decode(codes.t())

    torch.testing.assert_close(actual, codes.to(torch.float32).t(), rtol=0, atol=0, equal_nan=True)


@every_format
def test_exponents_are_those_of_frexp_from_the_smallest_normal_up(name: str) -> None:
    values = all_codes(name).to(torch.float32).tolist()
    finite = [code for code, value in enumerate(values) if math.isfinite(value) and value != 0]

    actual = exponents(all_codes(name)).tolist()

    expected = {code: max(math.frexp(values[code])[1] - 1, SMALLEST_NORMAL[name]) for code in finite}
    assert {code: actual[code] for code in finite} == expected


@pytest.mark.parametrize("left", list(DTYPES))
@pytest.mark.parametrize("right", list(DTYPES))
def test_a_product_with_zero_never_has_the_largest_exponent(left: str, right: str) -> None:
    a, b = all_codes(left), all_codes(right)
    zero = exponents(a).int()[a.to(torch.float32) == 0]
    values = b.to(torch.float32)
    other = exponents(b).int()[torch.isfinite(values) & (values != 0)]

    highest_with_zero = int(zero.max() + other.max())
    lowest_real = SMALLEST_NORMAL[left] + SMALLEST_NORMAL[right]

    assert highest_with_zero < lowest_real - 13, "a truncated running value may lie 13 binades below a product"
    assert 2 * int(zero.min()) >= torch.iinfo(torch.int8).min


@every_format
@pytest.mark.parametrize("value", [1e6, math.inf, -1e6, -math.inf])
def test_clamping_cast_saturates(name: str, value: float) -> None:
    actual = clamping_cast(torch.tensor([value]), DTYPES[name]).to(torch.float32).item()

    assert actual == math.copysign(LARGEST[name], value)


@every_format
def test_clamping_cast_keeps_nan(name: str) -> None:
    actual = clamping_cast(torch.tensor([math.nan, 1.0]), DTYPES[name]).to(torch.float32)

    assert actual.isnan().tolist() == [True, False]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (17.0, 16.0),
        (19.0, 20.0),
        (-17.0, -16.0),
        (17.0625, 18.0),
        (2.0**-10, 0.0),
        (3 * 2.0**-10, 2.0**-8),
        (449.0, 448.0),
        (464.0, 448.0),
        (465.0, 448.0),
    ],
)
def test_clamping_cast_rounds_to_nearest_even(value: float, expected: float) -> None:
    actual = clamping_cast(torch.tensor([value]), torch.float8_e4m3fn).to(torch.float32).item()

    assert actual == expected


@every_format
def test_clamping_cast_picks_the_nearest_of_all_codes(name: str) -> None:
    values = Stream(f"cast/{name}", torch.device("cpu")).floats(-12, 18, 300)
    table = all_codes(name).to(torch.float32).double()

    actual = clamping_cast(values, DTYPES[name]).to(torch.float32).double()

    distance = (values.double()[:, None] - table[None]).abs().nan_to_num(nan=math.inf)
    torch.testing.assert_close((values - actual).abs(), distance.amin(1), rtol=0, atol=0)


@pytest.mark.parametrize("source", [torch.float64, torch.bfloat16, torch.float16])
def test_clamping_cast_takes_other_float_dtypes(source: torch.dtype) -> None:
    actual = clamping_cast(torch.tensor([1.5, 1000.0], dtype=source), torch.float8_e4m3fn)

    assert actual.to(torch.float32).tolist() == [1.5, 448.0]


@every_format
def test_format_of_knows_the_dtype(name: str) -> None:
    actual = format_of(DTYPES[name])

    assert actual.name == name


def test_format_of_names_the_choices() -> None:
    with pytest.raises(TypeError, match=r"torch\.bfloat16 is no FP8 format; choose one of .*float8_e4m3fn.*e5m2fnuz"):
        format_of(torch.bfloat16)
