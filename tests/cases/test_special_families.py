"""The families about NaN, infinities, overflow and underflow, and those of the bound tier."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from cases import FAMILIES, OUT_DTYPES, Case, Problem
from cases.operands import Operands, build_operands
from cases.places import KINDS, injection_of
from reference import decode, emulate_block_scaled_mm, exact_block_matmul, expect, native_w8a8_block_matmul, round_to

RECIPES = ("1x128-128x128", "128x128-1x128", "1x128-1x128")
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
every_recipe = pytest.mark.parametrize("recipe", RECIPES)


def build(family: str, m: int = 5, n: int = 144, k: int = 400, *, seed: int = 0, **problem: str) -> Operands:
    case = Case(Problem(m, n, k, **problem), FAMILIES[family], seed)
    assert case.why_not() is None
    return build_operands(case)


def exact(operands: Operands, recipe: str = RECIPES[0]) -> Tensor:
    return exact_block_matmul(*operands.tensors, recipe=recipe)


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("quantised-outliers", "4ea151f8 6fb0b870 b7c4ba55"),
        ("positive-codes", "db812b77 fb955dec 83db9031"),
        ("subnormal-scales", "c4085c1f 0b9c97b4 8a7ebd81"),
    ],
)
def test_bytes_never_change(family: str, expected: str) -> None:
    actual = [build(family, seed=i, recipe=recipe).digest[:8] for i, recipe in enumerate(RECIPES)]

    assert " ".join(actual) == expected


@pytest.mark.parametrize("family", ["quantised-outliers", "positive-codes", "subnormal-scales"])
@every_recipe
@pytest.mark.parametrize("form", ["e4m3fn", "e5m2", "e4m3fnuz"])
def test_every_format_and_recipe_is_filled(family: str, recipe: str, form: str) -> None:
    A, B, As, Bs = build(family, 130, 144, 272, recipe=recipe, a=form, b=form).tensors

    assert torch.isfinite(decode(A)).all()
    assert torch.isfinite(decode(B)).all()
    assert torch.isfinite(As).all()
    assert torch.isfinite(Bs).all()


# One special value.


@every_recipe
@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_the_special_value_reaches_its_rows_and_columns_and_no_others(recipe: str, kind: int) -> None:
    for place in (0, 3):
        seed = kind + len(KINDS) * place
        operands = build("one-nan", 130, 144, 272, seed=seed, recipe=recipe)
        tagged = build("one-nan", 130, 144, 272, seed=(kind + 1) % len(KINDS), recipe=recipe)
        injection = injection_of(Problem(130, 144, 272, recipe=recipe), seed)
        result = exact(operands, recipe)

        rows, columns = (~result.isfinite()).any(1), (~result.isfinite()).any(0)

        assert (~result.isfinite()).sum() == rows.sum() * columns.sum()
        blocks = {"As": recipe.startswith("128"), "Bs": recipe.endswith("-128x128")}
        reach = 128 if blocks.get(injection.operand) else 1
        hit, others = (rows, columns) if injection.operand[0] == "A" else (columns, rows)
        assert hit.nonzero().flatten().tolist() == list(
            range(injection.row * reach, min((injection.row + 1) * reach, len(hit)))
        )
        assert others.all()
        assert tagged.digest != operands.digest


def test_one_nan_plants_each_kind_at_its_place() -> None:
    problem = Problem(130, 144, 272)
    kinds = set()

    for seed in range(FAMILIES["one-nan"].seeds(problem) or 0):
        operands = dict(zip(("A", "B", "As", "Bs"), build("one-nan", 130, 144, 272, seed=seed).tensors, strict=True))
        found = {
            (name, str(value), len(places))
            for name, x in operands.items()
            for places in [(~torch.isfinite(x.float())).nonzero().tolist()]
            for value in {x.float()[place[0], place[1]].item() for place in places[:1]}
        }
        assert len(found) == 1, "one operand holds it"
        kinds |= found

    whole = {("A", "nan", 272), ("B", "nan", 272), ("As", "nan", 3), ("Bs", "nan", 3)}
    signed = {(name, value, 1) for name in ("As", "Bs") for value in ("nan", "inf", "-inf")}
    assert kinds == whole | signed | {("A", "nan", 1), ("B", "nan", 1)}


@pytest.mark.parametrize(
    ("recipe", "seed", "expected"),
    [
        (RECIPES[0], 0, "NaN in A[row 4, k 0]"),
        (RECIPES[0], 4, "+inf in As[row 4, K block 0]"),
        (RECIPES[0], 7, "-inf in Bs[N block 1, K block 0]"),
        (RECIPES[0], 10, "NaN in B[row 143, every k]"),
        (RECIPES[1], 9, "NaN in As[M block 0, every K block]"),
        (RECIPES[2], 15, "NaN in Bs[row 0, K block 1]"),
    ],
)
def test_a_note_names_the_special_value(recipe: str, seed: int, expected: str) -> None:
    actual = FAMILIES["one-nan"].note(Problem(5, 144, 272, recipe=recipe), seed)

    assert actual == f"the one special value is {expected}"


def test_a_nan_that_is_washed_away_shows() -> None:
    operands = build("one-nan", seed=0)
    right = exact(operands)
    washed = decode(operands.A).nan_to_num(0.0).to(operands.A.dtype)

    wrong = exact_block_matmul(washed, *operands.tensors[1:])

    assert right.isnan()[4].all()
    assert torch.isfinite(wrong).all()


# Overflow.


@every_recipe
@pytest.mark.parametrize(("m", "n"), [(1, 144), (130, 16)])
@pytest.mark.parametrize("out", OUT_DTYPES)
def test_results_lie_on_either_side_of_the_limit_of_each_output_dtype(recipe: str, m: int, n: int, out: str) -> None:
    largest = torch.finfo(DTYPES[out]).max

    products = [exact(build("overflow", m, n, 400, seed=seed, recipe=recipe), recipe) for seed in range(12)]

    results = round_to(torch.cat([x.flatten() for x in products]), DTYPES[out]).double()
    assert set(results[results.isinf()].tolist()) == {math.inf, -math.inf}
    assert set(results[results.abs() == largest].tolist()) == {largest, -largest}
    assert not results.isnan().any()
    assert 0.1 < results.isfinite().double().mean() < 0.99


@pytest.mark.parametrize(
    ("value", "out", "expected"),
    [
        (65504.0, "fp16", 65504.0),
        (65519.0, "fp16", 65504.0),
        (65520.0 - 2.0**-8, "fp16", 65504.0),
        (65520.0 - 2.0**-30, "fp16", 65504.0),
        (65520.0, "fp16", math.inf),
        (-65520.0, "fp16", -math.inf),
        (2.0**127 * (2 - 2.0**-7), "bf16", 2.0**127 * (2 - 2.0**-7)),
        (2.0**127 * (2 - 2.0**-8) - 2.0**104, "bf16", 2.0**127 * (2 - 2.0**-7)),
        (2.0**127 * (2 - 2.0**-8) - 2.0**80, "bf16", 2.0**127 * (2 - 2.0**-7)),
        (2.0**127 * (2 - 2.0**-8), "bf16", math.inf),
        (2.0**127 * (2 - 2.0**-23), "bf16", math.inf),
        (2.0**127 * (2 - 2.0**-23), "fp32", 2.0**127 * (2 - 2.0**-23)),
        (2.0**127 * (2 - 2.0**-24) - 2.0**80, "fp32", 2.0**127 * (2 - 2.0**-23)),
        (2.0**127 * (2 - 2.0**-24), "fp32", math.inf),
        (2.0**300, "fp16", math.inf),
        (-(2.0**300), "bf16", -math.inf),
        (math.inf, "bf16", math.inf),
        (math.nan, "fp16", math.nan),
    ],
)
def test_one_rounding_overflows_where_ties_to_even_do(value: float, out: str, expected: float) -> None:
    actual = round_to(torch.tensor([value], dtype=torch.float64), DTYPES[out]).item()

    assert str(actual) == str(expected)


STORES: dict[str, Callable[[Tensor, torch.dtype], Tensor]] = {
    "saturating": lambda x, dtype: x.clamp(-torch.finfo(dtype).max, torch.finfo(dtype).max).to(dtype),
    "through float16": lambda x, dtype: x.half().to(dtype),
    "early": lambda x, dtype: torch.where(x.abs() >= torch.finfo(dtype).max, x.sign() * math.inf, x).to(dtype),
    "toward zero": lambda x, dtype: (x.view(torch.int32) & -(1 << 16)).view(torch.float32).to(dtype),
}


@pytest.mark.parametrize(
    ("store", "out"),
    [
        ("saturating", "fp16"),
        ("saturating", "bf16"),
        ("saturating", "fp32"),
        ("through float16", "bf16"),
        ("through float16", "fp32"),
        ("early", "fp16"),
        ("early", "bf16"),
        ("early", "fp32"),
        ("toward zero", "bf16"),
    ],
)
def test_wrong_stores_show_where_results_overflow(store: str, out: str) -> None:
    dtype = DTYPES[out]
    operands = build("overflow", 24, 144, 400)
    total = native_w8a8_block_matmul(*operands.tensors, (128, 128), torch.float32)
    right = round_to(exact(operands), dtype)

    assert torch.equal(total.to(dtype), right)
    assert (STORES[store](total, dtype) != right).any()


# Underflow.


def test_scales_underflow_alone_and_together() -> None:
    operands = build("subnormal-scales", 64, 640, 256)

    products = operands.As.double()[:, None, :] * operands.Bs.double()[None, :, :]

    assert ((operands.As > 0) & (operands.As < 2.0**-126)).any()
    assert ((products > 0) & (products < 2.0**-149)).any(), "to zero"
    assert ((products >= 2.0**-149) & (products < 2.0**-126)).any(), "to subnormals"
    assert (products > 2.0**-126).any(), "not at all"
    assert FAMILIES["subnormal-scales"].tier == "declared"


def test_flushing_subnormals_shows_in_subnormal_scales() -> None:
    A, B, As, Bs = build("subnormal-scales", 64, 144, 256).tensors
    flushed = torch.where(As < 2.0**-126, 0.0, As)

    right, wrong = (emulate_block_scaled_mm(A, B, s, Bs, out_dtype=torch.float32) for s in (As, flushed))

    assert 0.05 < (right != wrong).double().mean() < 0.95


# The bound tier.


def test_positive_codes_and_scales_have_one_sign_and_cover_the_format() -> None:
    A, B, As, Bs = build("positive-codes", 64, 144, 256).tensors

    for codes in (A, B):
        assert codes.view(torch.uint8).unique().tolist() == list(range(0x7F))
    assert As.min() > 0
    assert Bs.min() > 0


def test_truncation_is_biased_on_positive_codes_and_not_on_codes_of_both_signs() -> None:
    bias = {}
    for family in ("positive-codes", "uniform-codes"):
        operands = build(family, 33, 144, 1040)
        error = emulate_block_scaled_mm(*operands.tensors, out_dtype=torch.float32).double() - exact(operands)
        bias[family] = abs(error.sign().mean().item())

    assert bias["positive-codes"] > 0.9
    assert bias["uniform-codes"] < 0.2


def test_outliers_are_a_few_channels_and_tokens() -> None:
    A, _, As, _ = build("quantised-outliers", 64, 144, 1024).tensors
    x = decode(A) * As.repeat_interleave(128, 1)

    by_channel, by_token = x.abs().median(0).values, As.median(1).values

    assert 0.005 < (by_channel > 4 * by_channel.median()).double().mean() < 0.05
    assert 0.01 < (by_token > 6 * by_token.median()).double().mean() < 0.2
    assert (As.max() / As.min()).item() > 100
    assert (x.abs() > 6 * x.abs().mean(0)).double().mean() > 0.001, "heavy tails"


@pytest.mark.parametrize("family", ["positive-codes", "quantised-outliers"])
def test_right_kernels_stay_within_the_bound(family: str) -> None:
    operands = build(family, 5, 144, 1040)
    expectation = expect(*operands.tensors, arithmetic=None)

    for result in (
        native_w8a8_block_matmul(*operands.tensors, (128, 128), torch.float32),
        emulate_block_scaled_mm(*operands.tensors, out_dtype=torch.float32, split_k=4),
    ):
        assert ((result.double() - expectation.exact).abs() <= expectation.error).all()
