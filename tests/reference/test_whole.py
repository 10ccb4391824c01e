"""Scales that cover all of K: the oracle, the bound that every right kernel keeps, and what it sees."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import pytest
import torch
from torch import Tensor

from cases import parse_case
from cases.operands import build_operands
from reference import SM90, Expectation, emulate_block_scaled_mm, error_bound, exact_block_matmul, expect, infer_split_k
from reference.blocks import RECIPES, check_operands
from reference.exactness import why_not_exact

Operands = tuple[Tensor, Tensor, Tensor, Tensor]
Parts = tuple[Tensor, Tensor, Tensor, Tensor]
WHOLE = [name for name, recipe in RECIPES.items() if recipe.is_whole]
FAMILIES = ["uniform-codes", "quantised-normal", "quantised-outliers", "positive-codes"]
every_recipe = pytest.mark.parametrize("recipe", WHOLE)
every_family = pytest.mark.parametrize("family", FAMILIES)


@cache
def build(recipe: str, family: str = "uniform-codes", shape: str = "m3-n16-k1040") -> Operands:
    return build_operands(parse_case(f"gemm/{recipe}/{shape}/fp32/{family}/s0")).tensors


@cache
def undeclared(recipe: str, family: str) -> Expectation:
    return expect(*build(recipe, family), recipe=recipe, arithmetic=None)


# The oracle.


@every_recipe
def test_the_exact_product_is_the_one_of_rational_numbers(recipe: str) -> None:
    A, B, As, Bs = args = build(recipe, shape="m3-n16-k272")
    sa, sb = As.expand(3, 1), Bs.expand(16, 1)

    actual = exact_block_matmul(*args, recipe=recipe)

    for row, column in ((0, 0), (2, 15), (1, 7)):
        a, b = ([Fraction(v) for v in x.float().tolist()] for x in (A[row], B[column]))
        scale = Fraction(sa[row].item()) * Fraction(sb[column].item())
        expected = float(scale * sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0)))
        assert actual[row, column].item() == pytest.approx(expected, rel=2.0**-48, abs=2.0**-40)


@every_recipe
def test_scales_of_blocks_do_not_fit(recipe: str) -> None:
    A, B, _, _ = build(recipe)

    with pytest.raises(ValueError, match=rf"As must have shape .* for {recipe}, got \(3, 9\)"):
        check_operands(A, B, torch.ones(3, 9), torch.ones(16, 9), recipe=recipe)


@every_recipe
def test_an_arithmetic_of_blocks_says_nothing_here(recipe: str) -> None:
    args = build(recipe)
    out = torch.zeros(3, 16)

    for ask in (
        lambda: expect(*args, recipe=recipe, arithmetic=SM90),
        lambda: emulate_block_scaled_mm(*args, recipe=recipe, out_dtype=torch.float32),
        lambda: infer_split_k(*args, out, recipe=recipe),
    ):
        with pytest.raises(ValueError, match=f"{recipe} has no K blocks"):
            ask()


# Right kernels.


def parts(args: Operands) -> Parts:
    """Values of A and B and their scales as a column and a row, float32."""
    A, B, As, Bs = args
    return A.float(), B.float(), As.expand(len(A), 1), Bs.expand(len(B), 1).t()


def order(name: str, k: int) -> Tensor:
    if name == "shuffled":
        return torch.randperm(k, generator=torch.Generator().manual_seed(7))
    return torch.arange(k) if name == "forward" else torch.arange(k).flip(0)


def summed(a: Tensor, b: Tensor, how: str) -> Tensor:
    """``a @ b.T`` with every product and every sum rounded to float32, one after the other, or in pairs."""
    products = a[:, None, :] * b[None, :, :]
    if how == "pairs":
        while products.shape[-1] > 1:
            products = torch.nn.functional.pad(products, (0, products.shape[-1] % 2))
            products = products[..., ::2] + products[..., 1::2]
        return products[..., 0]
    total = torch.zeros(products.shape[:2])
    for lane in order(how, a.shape[1]).tolist():
        total = total + products[..., lane]
    return total


def floor_log2(x: Tensor) -> Tensor:
    return torch.where(x == 0, -200.0, (torch.frexp(x).exponent - 1).double())


def unit(a: Tensor, b: Tensor, *, group: int, how: str = "forward", chunk: int = 1 << 20) -> Tensor:
    """A unit that keeps 13 fraction bits and 14 of its running sum, over all of K; float32 between chunks of K."""
    a, b = a.double()[:, order(how, a.shape[1])], b.double()[:, order(how, a.shape[1])]
    result = torch.zeros(len(a), len(b))
    for start in range(0, a.shape[1], chunk):
        running = torch.zeros(len(a), len(b), dtype=torch.float64)
        for at in range(start, min(start + chunk, a.shape[1]), group):
            x, y = a[:, None, at : at + group], b[None, :, at : at + group]
            terms = x * y
            # Subnormal codes keep the exponent of the smallest normal one.
            exponents = torch.where(terms == 0, -200.0, floor_log2(x).clamp(min=-6) + floor_log2(y).clamp(min=-6))
            quantum = torch.exp2(torch.maximum(exponents.amax(-1), floor_log2(running)) - 13)
            total = quantum * ((terms / quantum[..., None]).trunc().sum(-1) + (running / quantum).trunc())
            quantum = torch.exp2(floor_log2(total) - 13)
            running = (total / quantum).trunc() * quantum
        result = result + running.float()
    return result


RIGHT: dict[str, Callable[[Parts], Tensor]] = {
    "matmul of dequantised": lambda p: (p[0] * p[2]) @ (p[1] * p[3].t()).t(),
    "matmul, scales last": lambda p: (p[0] @ p[1].t()) * (p[2] * p[3]),
    "float64": lambda p: ((p[0].double() @ p[1].double().t()) * p[2] * p[3]).float(),
    "blocks promoted": lambda p: unit(p[0], p[1], group=32, chunk=128) * p[2] * p[3],
    "unit in two halves": lambda p: unit(p[0], p[1], group=32, chunk=544) * (p[2] * p[3]),
    **{
        f"unit of {group}, {how}": lambda p, group=group, how=how: unit(p[0], p[1], group=group, how=how) * p[2] * p[3]
        for group in (16, 32, 64)
        for how in ("forward", "backward", "shuffled")
    },
    **{
        f"dequantised first, {how}": lambda p, how=how: summed(p[0] * p[2], p[1] * p[3].t(), how)
        for how in ("forward", "backward", "shuffled", "pairs")
    },
    **{
        f"scales last, {how}": lambda p, how=how: summed(p[0], p[1], how) * p[2] * p[3]
        for how in ("forward", "backward", "shuffled", "pairs")
    },
}


@every_recipe
@every_family
@pytest.mark.parametrize("kernel", list(RIGHT))
def test_right_kernels_are_within_the_bound(kernel: str, family: str, recipe: str) -> None:
    args = build(recipe, family)
    result, expected = RIGHT[kernel](parts(args)), undeclared(recipe, family)

    assert ((result.double() - expected.exact).abs() <= expected.error).all()
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        low, high = expected.interval(dtype)
        assert ((result.to(dtype).double() >= low) & (result.to(dtype).double() <= high)).all()


@every_recipe
@pytest.mark.parametrize("how", ["forward", "pairs"])
def test_operands_and_results_that_underflow_are_within_the_bound(how: str, recipe: str) -> None:
    A, B, As, Bs = build(recipe)
    for a_exponent, b_exponent in ((-130, 0), (0, -130), (-70, -70), (-140, 60)):
        args = A, B, As * 2.0**a_exponent, Bs * 2.0**b_exponent
        exact = exact_block_matmul(*args, recipe=recipe)
        for kernel in (f"dequantised first, {how}", f"scales last, {how}"):
            distance = (RIGHT[kernel](parts(args)).double() - exact).abs()
            assert (distance <= error_bound(*args, recipe=recipe, arithmetic=None, out_dtype=torch.float32)).all()


EXACT = ["tagged-integers", "integer-codes", "subnormal-codes", "odd-scales", "full-scales", "wide-scales"]


@every_recipe
@pytest.mark.parametrize("family", EXACT)
@pytest.mark.parametrize("kernel", list(RIGHT))
def test_exact_families_are_exact_for_right_kernels(kernel: str, family: str, recipe: str) -> None:
    args = build(recipe, family)

    actual = RIGHT[kernel](parts(args)).double()

    assert torch.equal(actual, exact_block_matmul(*args, recipe=recipe))


@pytest.mark.parametrize("family", ["signed-scales", "zero-blocks"])
@pytest.mark.parametrize("kernel", ["dequantised first, shuffled", "unit of 32, forward", "scales last, pairs"])
def test_exact_families_of_rows_are_exact_for_right_kernels(kernel: str, family: str) -> None:
    args = build("rowwise", family)

    actual = RIGHT[kernel](parts(args)).double()

    assert torch.equal(actual, exact_block_matmul(*args, recipe="rowwise"))


@every_recipe
def test_what_is_exact_in_blocks_may_be_cut_in_a_sum_over_all_of_k(recipe: str) -> None:
    codes, scale = torch.full((1, 1040), 11.0).to(torch.float8_e4m3fn), torch.ones(1, 1)

    actual = why_not_exact(codes, codes, scale, scale, recipe=recipe)

    assert actual == "sums inside a K block reach 125840 times their smallest bit, above 2^14"
    assert why_not_exact(codes, codes, torch.ones(1, 9), torch.ones(1, 9), recipe="1x128-1x128") is None


@every_recipe
@pytest.mark.parametrize(
    ("family", "k"), [("tagged-integers", 16400), ("integer-codes", 16400), ("subnormal-codes", 1184)]
)
def test_a_k_that_a_unit_cannot_add_up_is_refused_with_the_reason(family: str, k: int, recipe: str) -> None:
    with pytest.raises(ValueError, match=r"its sums over K reach \d+, above 2\^14"):
        parse_case(f"gemm/{recipe}/m3-n16-k{k}/fp32/{family}/s0")


# What the bound sees.


def share_outside(result: Tensor, args: Operands, recipe: str) -> float:
    low, high = expect(*args, recipe=recipe, arithmetic=None).interval(result.dtype)
    return ((result.double() < low) | (result.double() > high)).double().mean().item()


@every_family
def test_another_rows_scale_is_seen_in_most_elements(family: str) -> None:
    A, B, As, Bs = args = build("rowwise", family, "m64-n64-k400")

    for wrong in ((A, B, As.roll(1, 0), Bs), (A, B, As, Bs.roll(1, 0)), (A, B, As, torch.ones_like(Bs))):
        result = exact_block_matmul(*wrong, recipe="rowwise").float()
        assert share_outside(result, args, "rowwise") >= 0.3


@every_recipe
@every_family
def test_a_lost_k_block_and_a_wrong_sign_are_seen(family: str, recipe: str) -> None:
    A, B, As, Bs = args = build(recipe, family, "m64-n64-k400")
    cut = A.view(torch.uint8).clone()
    cut[:, 256:] = 0

    lost = exact_block_matmul(cut.view(A.dtype), B, As, Bs, recipe=recipe).float()

    assert share_outside(lost, args, recipe) >= 0.6
    assert share_outside(-exact_block_matmul(*args, recipe=recipe).float(), args, recipe) >= 0.8


@every_recipe
def test_tile_size_does_not_matter(recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    args = build(recipe, shape="m5-n16-k400")
    expected = expect(*args, recipe=recipe, arithmetic=None)

    monkeypatch.setattr("reference.tiles.CPU_TILE", 7)
    actual = expect(*args, recipe=recipe, arithmetic=None)

    torch.testing.assert_close(actual.exact, expected.exact, rtol=2.0**-48, atol=2.0**-40)
    torch.testing.assert_close(actual.error, expected.error, rtol=2.0**-48, atol=0)
