"""The bit model against a slow one in rational numbers, and against the probes of docs/arithmetic.md."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor

from cases.stream import Stream
from reference import SM90, Arithmetic, emulate_block_scaled_mm
from reference.dot import iter_block_products

RECIPES = {"1x128-128x128": (1, 128), "128x128-1x128": (128, 1), "1x128-1x128": (1, 1)}
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
MIN_EXPONENT = {E4M3: -6, E5M2: -14}
SMALL_GROUPS = Arithmetic("small-groups", group=16, fraction_bits=13, source="this test")
OTHERS = (
    SMALL_GROUPS,
    Arithmetic("few-bits", group=32, fraction_bits=10, source="this test"),
    Arithmetic("many-bits", group=32, fraction_bits=25, source="this test"),
    Arithmetic("floor", group=16, fraction_bits=13, alignment="floor", source="this test"),
    Arithmetic("nearest", group=32, fraction_bits=13, normalisation="nearest", source="this test"),
    Arithmetic("floor-nearest", 16, 24, alignment="floor", normalisation="nearest", source="this test"),
    Arithmetic("promoted-early", group=32, fraction_bits=13, promotion=64, source="this test"),
    Arithmetic("promoted-late", group=32, fraction_bits=13, promotion=256, source="this test"),
    Arithmetic("b-first", group=32, fraction_bits=13, scale_order="b-then-a", source="this test"),
    Arithmetic("rounded-twice", group=32, fraction_bits=13, fused=False, source="this test"),
)
ROUND = {"truncate": math.trunc, "floor": math.floor, "nearest": round}
Operands = tuple[Tensor, Tensor, Tensor, Tensor]

every_recipe = pytest.mark.parametrize("recipe", list(RECIPES))


# The slow model: one element at a time, nothing rounded but where the unit rounds.


def floor_log2(value: Fraction) -> int:
    exponent = abs(value).numerator.bit_length() - value.denominator.bit_length()
    return exponent - (Fraction(2) ** exponent > abs(value))


def on_grid(value: Fraction, quantum: Fraction, rounding: str) -> Fraction:
    return ROUND[rounding](value / quantum) * quantum


def float32(value: Fraction) -> Fraction:
    """``value`` rounded to the nearest float32, ties to even, subnormals kept."""
    if value == 0:
        return value
    quantum = Fraction(2) ** (max(floor_log2(value), -126) - 23)
    rounded = round(value / quantum) * quantum
    assert abs(rounded) < 2**128, "these tests keep to finite results"
    return rounded


def slow_dot(a: list[Fraction], b: list[Fraction], lowest: tuple[int, int], unit: Arithmetic) -> Fraction:
    """The product between two promotions: fused dot products of a group, chained."""
    running = Fraction(0)
    for start in range(0, len(a), unit.group):
        pairs = zip(a[start : start + unit.group], b[start : start + unit.group], strict=True)
        terms = [(max(floor_log2(x), lowest[0]) + max(floor_log2(y), lowest[1]), x * y) for x, y in pairs if x * y != 0]
        if running != 0:
            terms.append((floor_log2(running), running))
        if terms:
            quantum = Fraction(2) ** (max(exponent for exponent, _ in terms) - unit.fraction_bits)
            running = sum((on_grid(value, quantum, unit.alignment) for _, value in terms), Fraction(0))
        if running != 0:
            kept = min(unit.fraction_bits, 23)
            running = on_grid(running, Fraction(2) ** (floor_log2(running) - kept), unit.normalisation)
    return running


def slow_sum(products: list[Fraction], sa: list[Fraction], sb: list[Fraction], order: str, fused: bool) -> Fraction:
    total = Fraction(0)
    for product, a, b in zip(products, sa, sb, strict=True):
        first, second = {
            "scales-first": (product, float32(a * b)),
            "a-then-b": (float32(product * a), b),
            "b-then-a": (float32(product * b), a),
        }[order]
        total = float32(first * second + total) if fused else float32(float32(first * second) + total)
    return total


def slow_element(
    args: Operands, m: int, n: int, recipe: str, *, split_k: int | None = None, arithmetic: Arithmetic = SM90
) -> float:
    A, B, As, Bs = args
    a_rows, b_rows = RECIPES[recipe]
    lowest = MIN_EXPONENT[A.dtype], MIN_EXPONENT[B.dtype]
    a, b = ([Fraction(v) for v in row.to(torch.float32).tolist()] for row in (A[m], B[n]))
    sa, sb = ([Fraction(v) for v in row.tolist()] for row in (As[m // a_rows], Bs[n // b_rows]))
    width = arithmetic.promotion
    products = [slow_dot(a[k : k + width], b[k : k + width], lowest, arithmetic) for k in range(0, len(a), width)]
    last_block = [min((i + 1) * width - 1, len(a) - 1) // 128 for i in range(len(products))]
    sa, sb = [sa[i] for i in last_block], [sb[i] for i in last_block]
    order = arithmetic.scale_order or ("a-then-b" if recipe == "1x128-1x128" else "scales-first")
    step = max(1, split_k * 128 // width) if split_k else len(products)
    spans = [slice(i, i + step) for i in range(0, len(products), step)]
    chunks = [slow_sum(products[s], sa[s], sb[s], order, arithmetic.fused) for s in spans]
    total = chunks[0]
    for chunk in chunks[1:]:
        total = float32(total + chunk)
    return float(total)


def slow_result(args: Operands, recipe: str, **options: Any) -> list[list[float]]:
    rows, columns = range(args[0].shape[0]), range(args[1].shape[0])
    return [[slow_element(args, m, n, recipe, **options) for n in columns] for m in rows]


def emulate(args: Operands, recipe: str, **options: Any) -> list[list[float]]:
    """The float32 result, which the fastest engine here and eager torch agree on."""
    result, eager = (
        emulate_block_scaled_mm(*args, recipe=recipe, out_dtype=torch.float32, engine=engine, **options)
        for engine in (None, "eager")
    )
    torch.testing.assert_close(result, eager, rtol=0, atol=0, equal_nan=True)
    return result.tolist()


# Generated operands.


def finite(codes: bytes, dtype: torch.dtype) -> bytes:
    """``codes`` with those that are no number replaced by ones that are."""
    limit = 0x7F if dtype == E4M3 else 0x7C
    return bytes(c ^ 0x40 if c & 0x7F >= limit else c for c in codes)


PATTERNS: dict[str, Callable[[bytes], bytes]] = {
    "any": lambda codes: codes,
    "zeros": lambda codes: bytes(len(codes)),
    "sparse": lambda codes: bytes(c if i % 7 == 0 else c & 0x80 for i, c in enumerate(codes)),
    "subnormal": lambda codes: bytes(c & 0x83 for c in codes),
    "largest": lambda codes: bytes(c | 0x78 for c in codes),
    "near-one": lambda codes: bytes(c & 0x87 | 0x38 for c in codes),
    "one-sign": lambda codes: bytes(c & 0x7F for c in codes),
    "extremes": lambda codes: bytes(c | 0x78 if c % 3 == 0 else c & 0x81 for c in codes),
}
"""What a group of 32 codes is made into."""


@st.composite
def rows_of_codes(draw: st.DrawFn, k: int, dtype: torch.dtype) -> bytes:
    """One row of codes, group by group of a pattern; a group may also be the one before with its signs flipped."""
    row = b""
    while len(row) < k:
        pattern = draw(st.sampled_from([*PATTERNS, "cancelling"]))
        if pattern == "cancelling" and row:
            row += bytes(c ^ 0x80 for c in row[-32:])
        else:
            row += finite(PATTERNS.get(pattern, PATTERNS["any"])(draw(st.binary(min_size=32, max_size=32))), dtype)
    return row[:k]


@st.composite
def matrices(draw: st.DrawFn, rows: int, k: int, dtype: torch.dtype) -> Tensor:
    codes = b"".join(draw(rows_of_codes(k, dtype)) for _ in range(rows))
    return torch.frombuffer(bytearray(codes), dtype=torch.uint8).reshape(rows, k).view(dtype)


def scales(shape: tuple[int, int]) -> st.SearchStrategy[Tensor]:
    """Scales of either sign with full mantissas up to 2^30, and so small that the product of two may vanish."""
    tame = st.floats(min_value=0.25, max_value=4, width=32)
    wild = st.floats(min_value=2.0**-80, max_value=2.0**30, width=32)
    either = st.one_of(tame, tame, tame.map(lambda v: -v), wild, st.just(0.0))
    values = st.lists(either, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    return values.map(lambda v: torch.tensor(v, dtype=torch.float32).reshape(shape))


@st.composite
def operands(draw: st.DrawFn, recipe: str) -> Operands:
    """Two rows and two columns, up to three K blocks, the last maybe ragged."""
    k = draw(st.one_of(st.sampled_from([128, 256, 384]), st.integers(1, 384)))
    a_dtype, b_dtype = draw(st.sampled_from([(E4M3, E4M3), (E4M3, E4M3), (E5M2, E4M3), (E4M3, E5M2), (E5M2, E5M2)]))
    blocks = -(-k // 128)
    a_scales, b_scales = (2 if rows == 1 else 1 for rows in RECIPES[recipe])
    return (
        draw(matrices(2, k, a_dtype)),
        draw(matrices(2, k, b_dtype)),
        draw(scales((a_scales, blocks))),
        draw(scales((b_scales, blocks))),
    )


few = settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=200,
    phases=[Phase.generate],  # shrinking a failure would take minutes in the slow model
)


@every_recipe
@given(data=st.data())
@few
def test_every_bit_is_that_of_the_slow_model(recipe: str, data: st.DataObject) -> None:
    args = data.draw(operands(recipe))

    actual = emulate(args, recipe)

    assert actual == slow_result(args, recipe)


@given(data=st.data(), split_k=st.integers(1, 3))
@few
def test_every_bit_is_that_of_the_slow_model_with_split_k(data: st.DataObject, split_k: int) -> None:
    args = data.draw(operands("1x128-128x128"))

    actual = emulate(args, "1x128-128x128", split_k=split_k)

    assert actual == slow_result(args, "1x128-128x128", split_k=split_k)


@pytest.mark.parametrize("arithmetic", OTHERS, ids=lambda a: a.name)
@given(data=st.data(), recipe=st.sampled_from(list(RECIPES)), split_k=st.sampled_from([None, None, 1, 2]))
@settings(few, max_examples=25)
def test_every_parameter_of_an_arithmetic_follows_the_slow_model(
    arithmetic: Arithmetic, data: st.DataObject, recipe: str, split_k: int | None
) -> None:
    args = data.draw(operands(recipe))

    actual = emulate(args, recipe, arithmetic=arithmetic, split_k=split_k)

    assert actual == slow_result(args, recipe, arithmetic=arithmetic, split_k=split_k)


@pytest.mark.parametrize("arithmetic", OTHERS, ids=lambda a: a.name)
def test_every_parameter_of_an_arithmetic_changes_bits_of_ordinary_data(arithmetic: Arithmetic) -> None:
    args = ordinary_operands(5, 7, 456, "1x128-128x128", (E4M3, E4M3))

    actual = emulate(args, "1x128-128x128", arithmetic=arithmetic)

    assert actual == slow_result(args, "1x128-128x128", arithmetic=arithmetic)
    assert actual != emulate(args, "1x128-128x128")


def ordinary_operands(m: int, n: int, k: int, recipe: str, dtypes: tuple[torch.dtype, torch.dtype]) -> Operands:
    """Normal values, scales over eight binades on each side."""
    stream = Stream(f"dot/{m}-{n}-{k}", torch.device("cpu"))
    a_rows, b_rows = RECIPES[recipe]
    kb = -(-k // 128)
    return (
        stream.child("A").normal(m, k).to(dtypes[0]),
        stream.child("B").normal(n, k).to(dtypes[1]),
        stream.child("As").floats(-4, 4, -(-m // a_rows), kb),
        stream.child("Bs").floats(-4, 4, -(-n // b_rows), kb),
    )


@every_recipe
@pytest.mark.parametrize("dtypes", [(E4M3, E4M3), (E5M2, E4M3), (E5M2, E5M2)], ids=str)
def test_every_bit_of_ordinary_data_is_that_of_the_slow_model(
    recipe: str, dtypes: tuple[torch.dtype, torch.dtype]
) -> None:
    args = ordinary_operands(5, 7, 456, recipe, dtypes)

    actual = emulate(args, recipe)

    assert actual == slow_result(args, recipe)


@every_recipe
def test_every_element_takes_the_scales_of_its_own_blocks(recipe: str) -> None:
    args = ordinary_operands(130, 131, 140, recipe, (E4M3, E4M3))

    actual = emulate(args, recipe)

    for m, n in ((0, 0), (127, 127), (127, 128), (128, 127), (129, 130)):
        assert actual[m][n] == slow_element(args, m, n, recipe)


@every_recipe
@pytest.mark.parametrize("limit", [1, 7, 40])
def test_tile_size_does_not_matter(monkeypatch: pytest.MonkeyPatch, recipe: str, limit: int) -> None:
    args = ordinary_operands(5, 6, 300, recipe, (E4M3, E4M3))
    expected = emulate(args, recipe)

    monkeypatch.setattr("reference.tiles.CPU_TILE", limit)
    actual = emulate(args, recipe)

    assert actual == expected


@pytest.mark.parametrize("limit", [1, 7, 1 << 17])
def test_block_products_cover_the_result_tile_by_tile(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr("reference.tiles.CPU_TILE", limit)
    A, B, _, _ = ordinary_operands(3, 4, 200, "1x128-128x128", (E4M3, E4M3))
    whole = torch.full((2, 3, 4), math.nan)

    for tile, products in iter_block_products(A, B, SMALL_GROUPS):
        assert products.shape[1:].numel() <= limit
        whole[:, tile.rows, tile.cols] = products

    a, b = ([[Fraction(v) for v in row] for row in x.to(torch.float32).tolist()] for x in (A, B))
    expected = [
        [[float(slow_dot(x[k : k + 128], y[k : k + 128], (-6, -6), SMALL_GROUPS)) for y in b] for x in a]
        for k in (0, 128)
    ]
    assert whole.tolist() == expected


@every_recipe
def test_strided_operands_give_the_same_bits(recipe: str) -> None:
    A, B, As, Bs = ordinary_operands(5, 6, 300, recipe, (E4M3, E4M3))
    a, b, sa, sb = (x.t().contiguous().t() for x in (A, B, As, Bs))

    actual = emulate((a, b, sa, sb), recipe)

    assert actual == emulate((A, B, As, Bs), recipe)


@pytest.mark.parametrize("arithmetic", [SM90, *OTHERS], ids=lambda a: a.name)
@pytest.mark.parametrize("lane", [0, 31, 32, 127])
def test_the_smallest_product_of_all_stands_alone(arithmetic: Arithmetic, lane: int) -> None:
    A = torch.zeros(1, 128)
    A[0, lane] = 2.0**-16
    unit = torch.ones(1, 1)

    actual = emulate((A.to(E5M2), A.to(E5M2), unit, unit), "1x128-128x128", arithmetic=arithmetic)

    assert actual == [[2.0**-32]]


# The probes of docs/arithmetic.md: values worked out by hand, each of which another arithmetic gets differently.


def lanes(k: int, values: dict[int, float]) -> Tensor:
    """One row of K with ``values`` at some lanes, FP8."""
    row = torch.zeros(1, k)
    for lane, value in values.items():
        row[0, lane] = value
    return row.to(E4M3)


def ones(start: int, count: int) -> dict[int, float]:
    return dict.fromkeys(range(start, start + count), 1.0)


def probe(
    a: dict[int, float],
    b: dict[int, float],
    *,
    k: int = 128,
    sa: list[float] | None = None,
    sb: list[float] | None = None,
    recipe: str = "1x128-128x128",
    out_dtype: torch.dtype = torch.float32,
) -> Tensor:
    unit = [1.0] * -(-k // 128)
    As, Bs = torch.tensor([sa or unit]), torch.tensor([sb or unit])
    return emulate_block_scaled_mm(lanes(k, a), lanes(k, b), As, Bs, recipe=recipe, out_dtype=out_dtype)[0, 0]


def from_bits(bits: int) -> float:
    return float(torch.tensor(bits, dtype=torch.int32).view(torch.float32))


def bits_of(x: Tensor) -> int:
    return int(x.view(torch.int32))


def test_stagnation_is_prevented_by_the_promotion_of_every_block() -> None:
    actual = probe(ones(0, 32768), ones(0, 32768), k=32768).item()

    assert actual == 32768, "16384 without promotion"


def test_alignment_cuts_what_lies_below_the_largest_product() -> None:
    actual = probe({0: 256.0} | ones(1, 31), {0: 64.0} | ones(1, 31)).item()

    assert actual == 16384, "16415 with 25 fraction bits"


def test_the_running_value_takes_part_in_the_alignment() -> None:
    actual = probe({0: 256.0} | ones(32, 32), {0: 64.0} | ones(32, 32)).item()

    assert actual == 16384, "16416 if the groups were added in float32"


@pytest.mark.parametrize(
    ("t", "expected"), [(1, 16384.0), (2, 16384.0), (3, 16384.0), (4, 16416.0), (5, 16416.0), (7, 16416.0)]
)
def test_promotion_interval(t: int, expected: float) -> None:
    actual = probe({0: 256.0} | ones(32 * t, 32), {0: 64.0} | ones(32 * t, 32), k=256).item()

    assert actual == expected


@pytest.mark.parametrize(("last", "expected"), [(3.0, 16414.0), (4.0, 16384.0)])
def test_the_unit_is_not_monotone(last: float, expected: float) -> None:
    a = {0: 240.0, 1: 120.0, 2: 60.0, 3: last} | ones(32, 32)
    b = {0: 64.0, 1: 8.0, 2: 1.0, 3: 1.0} | ones(32, 32)

    actual = probe(a, b).item()

    assert actual == expected


def test_significands_are_not_renormalised_before_the_alignment() -> None:
    actual = probe({0: 1.875, 1: 2.0**-6, 2: -1.875}, {0: 1.875, 1: 2.0**-7, 2: 1.875}).item()

    assert actual == 2.0**-13, "cut to zero if 1.875 * 1.875 = 3.5 raised the exponent to 1"


def test_subnormal_codes_align_as_the_smallest_normal() -> None:
    actual = probe({0: 2.0**-6, 1: 2.0**-9, 2: -(2.0**-9)}, {0: 2.0**-7, 1: 256.0, 2: 256.0}).item()

    assert actual == 0.0, "2^-9 * 2^8 has exponent -6 + 8, so 2^-13 is cut at 2^-11; with exponent -9 + 8 it would stay"


@pytest.mark.parametrize(
    ("recipe", "expected"),
    [("1x128-128x128", 0x43F3633B), ("128x128-1x128", 0x43F3633B), ("1x128-1x128", 0x43F3633C)],
)
def test_scale_order(recipe: str, expected: int) -> None:
    actual = probe({0: 11.0}, {0: 13.0}, sa=[from_bits(0x3FF28F25)], sb=[from_bits(0x3FE5EDF4)], recipe=recipe)

    assert bits_of(actual) == expected


@every_recipe
def test_accumulation_is_fused(recipe: str) -> None:
    actual = probe(
        {0: -13.0, 128: 13.0},
        {0: 15.0, 128: 15.0},
        k=256,
        sa=[1.0, from_bits(0x3FCD162C)],
        sb=[1.0, 1.0],
        recipe=recipe,
    )

    expected = 0x42EADF90 if recipe == "1x128-1x128" else 0x42EADF8E
    assert bits_of(actual) == expected, "42eadf90 where the product is rounded before it is added"


@pytest.mark.parametrize(("i", "j"), [(0, 1), (0, 5), (2, 3), (4, 1), (6, 7)])
def test_blocks_accumulate_in_k_order(i: int, j: int) -> None:
    unit = {128 * block: 1.0 for block in range(8)}
    sa = [1.0] * 8
    sa[i], sa[j] = 2.0**40, -(2.0**40)

    actual = probe(unit, unit, k=1024, sa=sa).item()

    assert actual == 7 - max(i, j)


@pytest.mark.parametrize(
    ("value", "expected"), [(257, 256), (259, 260), (261, 260), (263, 264), (509, 508), (511, 512)]
)
def test_bfloat16_results_are_rounded_to_nearest_even(value: int, expected: int) -> None:
    actual = probe({0: 1.0}, {0: 1.0}, sa=[float(value)], out_dtype=torch.bfloat16)

    assert actual.dtype == torch.bfloat16
    assert actual.item() == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(65519.0, 65504.0), (65520.0, math.inf), (-65520.0, -math.inf), (2049.0, 2048.0)]
)
def test_float16_results_overflow_to_infinity(value: float, expected: float) -> None:
    actual = probe({0: 1.0}, {0: 1.0}, sa=[value], out_dtype=torch.float16)

    assert actual.dtype == torch.float16
    assert actual.item() == expected


# Special values, as measured on the hardware.


@pytest.mark.parametrize(
    ("a", "b", "sa", "sb", "float32_result", "bfloat16_result", "float16_result"),
    [
        (1.0, 1.0, math.nan, 1.0, math.nan, math.nan, math.nan),
        (1.0, 1.0, math.inf, 1.0, math.inf, math.inf, math.inf),
        (0.0, 1.0, math.inf, 1.0, math.nan, math.nan, math.nan),
        (1.0, 1.0, math.inf, 0.0, math.nan, math.nan, math.nan),
        (2.0**-9, 2.0**-9, 1.0, 1.0, 2.0**-18, 2.0**-18, 2.0**-18),
        (1.0, 1.0, 1e-40, 1.0, 9.99994610111476e-41, 9.183549615799121e-41, 0.0),
        (1.0, 1.0, 1e-45, 1.0, 2.0**-149, 0.0, 0.0),
        (448.0, 448.0, 3e38, 1.0, math.inf, math.inf, math.inf),
        (448.0, 448.0, 1e38, 1e-38, 200703.96875, 200704.0, math.inf),
        (1.0, 1.0, 1e-30, 1e-30, 0.0, 0.0, 0.0),
        (1.0, 1.0, 1e30, 1e30, math.inf, math.inf, math.inf),
    ],
)
def test_special_values(
    a: float, b: float, sa: float, sb: float, float32_result: float, bfloat16_result: float, float16_result: float
) -> None:
    dtypes = (torch.float32, torch.bfloat16, torch.float16)

    actual = [probe({0: a}, {0: b}, sa=[sa], sb=[sb], out_dtype=dtype).item() for dtype in dtypes]

    expected = [float32_result, bfloat16_result, float16_result]
    assert actual == pytest.approx(expected, rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize("code", [0x7F, 0xFF])
@pytest.mark.parametrize("lane", [0, 45, 127, 199])
def test_a_nan_code_reaches_exactly_its_row_or_column(code: int, lane: int) -> None:
    A, B, As, Bs = ordinary_operands(3, 4, 200, "1x128-128x128", (E4M3, E4M3))
    clean = torch.tensor(emulate((A, B, As, Bs), "1x128-128x128"))
    poisoned_a, poisoned_b = A.clone(), B.clone()
    poisoned_a.view(torch.uint8)[1, lane] = code
    poisoned_b.view(torch.uint8)[2, lane] = code

    rows = torch.tensor(emulate((poisoned_a, B, As, Bs), "1x128-128x128"))
    columns = torch.tensor(emulate((A, poisoned_b, As, Bs), "1x128-128x128"))

    clean_rows, clean_columns = clean.clone(), clean.clone()
    clean_rows[1], clean_columns[:, 2] = math.nan, math.nan
    torch.testing.assert_close(rows, clean_rows, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(columns, clean_columns, rtol=0, atol=0, equal_nan=True)


def test_a_nan_code_is_nan_even_against_zero() -> None:
    A = lanes(128, {})
    A.view(torch.uint8)[0, 5] = 0x7F

    actual = emulate((A, lanes(128, {}), torch.ones(1, 1), torch.ones(1, 1)), "1x128-128x128")

    assert math.isnan(actual[0][0])


def test_a_nan_scale_reaches_exactly_what_it_scales() -> None:
    A, B, As, Bs = ordinary_operands(3, 4, 200, "1x128-1x128", (E4M3, E4M3))
    As[1, 1], Bs[2, 0] = math.nan, math.nan

    actual = torch.tensor(emulate((A, B, As, Bs), "1x128-1x128")).isnan()

    expected = torch.zeros(3, 4, dtype=torch.bool)
    expected[1], expected[:, 2] = True, True
    assert torch.equal(actual, expected)


# Refusals.


@pytest.mark.parametrize("split_k", [0, -4])
def test_a_split_below_one_block_is_refused(split_k: int) -> None:
    args = ordinary_operands(1, 1, 128, "1x128-1x128", (E4M3, E4M3))

    with pytest.raises(ValueError, match=f"must be at least 1, got {split_k}"):
        emulate(args, "1x128-1x128", split_k=split_k)


def test_scales_of_another_recipe_are_refused() -> None:
    args = ordinary_operands(2, 3, 128, "1x128-128x128", (E4M3, E4M3))

    with pytest.raises(ValueError, match=r"Bs must have shape \(3, 1\) for 1x128-1x128, got \(1, 1\)"):
        emulate(args, "1x128-1x128")


def test_no_k_at_all_gives_zeros() -> None:
    args = (torch.ones(2, 0).to(E4M3), torch.ones(3, 0).to(E4M3), torch.ones(2, 0), torch.ones(1, 0))

    actual = emulate(args, "1x128-128x128")

    assert actual == [[0.0] * 3] * 2
