"""The exact oracle against Python's rational numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from torch import Tensor

from cases.stream import Stream
from reference import exact_block_matmul

RECIPES = {"1x128-128x128": (1, 128), "128x128-1x128": (128, 1), "1x128-1x128": (1, 1)}
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
every_recipe = pytest.mark.parametrize("recipe", list(RECIPES))


def stream(name: str) -> Stream:
    return Stream(f"oracle/{name}", torch.device("cpu"))


def scale_shapes(m: int, n: int, k: int, recipe: str) -> tuple[tuple[int, int], tuple[int, int]]:
    a_rows, b_rows = RECIPES[recipe]
    return (-(-m // a_rows), -(-k // 128)), (-(-n // b_rows), -(-k // 128))


def real_operands(
    m: int, n: int, k: int, recipe: str, dtypes: tuple[torch.dtype, torch.dtype] = (E4M3, E4M3)
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Normal values under scales with odd 24-bit mantissas."""
    sa, sb = scale_shapes(m, n, k, recipe)
    a, b = stream("A").normal(m, k).to(dtypes[0]), stream("B").normal(n, k).to(dtypes[1])
    return a, b, stream("As").floats(-8, 8, *sa), stream("Bs").floats(-8, 8, *sb)


def rational(args: tuple[Tensor, Tensor, Tensor, Tensor], recipe: str, m: int, n: int) -> tuple[Fraction, Fraction]:
    """Element (m, n) of the product and the sum over K blocks of |s_b * P_b|, exactly."""
    a_rows, b_rows = RECIPES[recipe]
    A, B, As, Bs = args
    a, b = ([Fraction(v) for v in x.to(torch.float32).tolist()] for x in (A[m], B[n]))
    sa, sb = ([Fraction(v) for v in x.tolist()] for x in (As[m // a_rows], Bs[n // b_rows]))
    blocks = [
        sa[i] * sb[i] * sum(x * y for x, y in zip(a[128 * i :][:128], b[128 * i :][:128], strict=True))
        for i in range(len(sa))
    ]
    return sum(blocks, Fraction(0)), sum((abs(v) for v in blocks), Fraction(0))


@every_recipe
@pytest.mark.parametrize("dtypes", [(E4M3, E4M3), (E5M2, E4M3), (E4M3, E5M2)])
def test_is_within_its_stated_error_of_the_rational_value(recipe: str, dtypes: tuple[torch.dtype, torch.dtype]) -> None:
    args = real_operands(3, 4, 300, recipe, dtypes)

    actual = exact_block_matmul(*args, recipe=recipe)

    assert actual.dtype == torch.float64
    for m in range(3):
        for n in range(4):
            expected, gross = rational(args, recipe, m, n)
            assert abs(Fraction(actual[m, n].item()) - expected) <= 4 * gross / 2**53


@every_recipe
def test_one_block_under_power_of_two_scales_is_exact(recipe: str) -> None:
    A, B, As, Bs = real_operands(3, 4, 128, recipe)
    args = (A, B, torch.full_like(As, 2.0**-60), torch.full_like(Bs, 2.0**50))

    actual = exact_block_matmul(*args, recipe=recipe)

    expected = [[rational(args, recipe, m, n)[0] for n in range(4)] for m in range(3)]
    assert [[Fraction(v) for v in row] for row in actual.tolist()] == expected


def test_cancelling_extremes_leave_the_smallest_product() -> None:
    A, B = torch.zeros(1, 128), torch.zeros(1, 128)
    A[0, :3], B[0, :3] = torch.tensor([448.0, 2.0**-9, -448.0]), torch.tensor([448.0, 2.0**-9, 448.0])

    actual = exact_block_matmul(A.to(E4M3), B.to(E4M3), torch.ones(1, 1), torch.ones(1, 1))

    assert actual.item() == 2.0**-18


def test_the_product_of_two_scales_is_not_rounded_to_float32() -> None:
    one = torch.ones(1, 1).to(E4M3)
    scale = torch.full((1, 1), 1 + 2.0**-23)

    actual = exact_block_matmul(one, one, scale, scale)

    assert actual.item() == 1 + 2.0**-22 + 2.0**-46


@every_recipe
@pytest.mark.parametrize("element", [(0, 0), (127, 128), (128, 127), (129, 130)])
def test_every_element_takes_the_scales_of_its_own_blocks(recipe: str, element: tuple[int, int]) -> None:
    args = real_operands(130, 131, 140, recipe)

    actual = exact_block_matmul(*args, recipe=recipe)[element].item()

    expected, gross = rational(args, recipe, *element)
    assert abs(Fraction(actual) - expected) <= 3 * gross / 2**53


def test_is_exact_on_integers_below_2_to_the_53() -> None:
    a, b = stream("a").below(15, 5, 400) - 7, stream("b").below(15, 6, 400) - 7
    sa, sb = stream("sa").below(1000, 5, 4) + 1, stream("sb").below(1000, 1, 4) + 1

    actual = exact_block_matmul(a.float().to(E4M3), b.float().to(E4M3), sa.float(), sb.float())

    terms = (a[:, None, :] * b[None, :, :]) * (sa[:, None, :] * sb[:, None, :]).repeat_interleave(128, -1)[..., :400]
    assert torch.equal(actual, terms.sum(-1).double())


@pytest.mark.parametrize("limit", [1, 7])
def test_tile_size_does_not_matter(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    args = real_operands(5, 6, 300, "1x128-1x128")
    expected = exact_block_matmul(*args, recipe="1x128-1x128")

    monkeypatch.setattr("reference.tiles.CPU_TILE", limit)
    actual = exact_block_matmul(*args, recipe="1x128-1x128")

    torch.testing.assert_close(actual, expected, rtol=2.0**-50, atol=2.0**-40)


def test_an_empty_batch_gives_an_empty_result() -> None:
    A, B = torch.ones(0, 128).to(E4M3), torch.ones(3, 128).to(E4M3)

    actual = exact_block_matmul(A, B, torch.ones(0, 1), torch.ones(1, 1))

    assert actual.shape == (0, 3)


@pytest.mark.parametrize(
    ("recipe", "As", "Bs", "message"),
    [
        ("1x128-128x128", (2, 1), (1, 2), r"As must have shape \(2, 2\)"),
        ("1x128-128x128", (2, 2), (2, 2), r"Bs must have shape \(1, 2\)"),
        ("128x128-1x128", (2, 2), (3, 2), r"As must have shape \(1, 2\)"),
        ("1x128-1x128", (2, 2), (1, 2), r"Bs must have shape \(3, 2\)"),
        ("groupwise", (2, 2), (1, 2), "unknown recipe 'groupwise'; choose one of 1x128-128x128, 128x128-1x128"),
    ],
)
def test_scales_that_do_not_fit_are_refused(
    recipe: str, As: tuple[int, int], Bs: tuple[int, int], message: str
) -> None:
    A, B = torch.ones(2, 200).to(E4M3), torch.ones(3, 200).to(E4M3)

    with pytest.raises(ValueError, match=message):
        exact_block_matmul(A, B, torch.ones(As), torch.ones(Bs), recipe=recipe)


def test_different_k_are_refused() -> None:
    A, B = torch.ones(2, 200).to(E4M3), torch.ones(3, 100).to(E4M3)

    with pytest.raises(ValueError, match="their K differ, 200 and 100"):
        exact_block_matmul(A, B, torch.ones(2, 2), torch.ones(1, 2))


def test_operands_of_more_than_two_dimensions_are_refused() -> None:
    A = torch.ones(1, 2, 128).to(E4M3)

    with pytest.raises(ValueError, match=r"A must be a matrix, got shape \(1, 2, 128\)"):
        exact_block_matmul(A, A[0], torch.ones(2, 1), torch.ones(1, 1))


def test_scales_that_are_no_float32_are_refused() -> None:
    A = torch.ones(2, 128).to(E4M3)

    with pytest.raises(TypeError, match=r"Bs must be float32, got torch\.bfloat16"):
        exact_block_matmul(A, A, torch.ones(2, 1), torch.ones(1, 1).bfloat16())


def test_operands_that_are_no_fp8_are_refused() -> None:
    A = torch.ones(2, 128)

    with pytest.raises(TypeError, match=r"torch\.float32 is no FP8 format"):
        exact_block_matmul(A, A, torch.ones(2, 1), torch.ones(1, 1))
