"""The condition of exactness: what it refuses, what it must not refuse, and that what it accepts is exact."""

from __future__ import annotations

import math

import pytest
import torch
from legal_kernels import legal_results
from torch import Tensor

from reference import exact_block_matmul
from reference.exactness import FEW, why_not_exact

ROWS = "1x128-1x128"
FP8 = torch.float8_e4m3fn


def codes(rows: int, k: int, value: float = 1.0, dtype: torch.dtype = FP8) -> Tensor:
    return torch.full((rows, k), value).to(dtype)


def one_hot(rows: int, k: int, places: list[int]) -> Tensor:
    values = torch.zeros(rows, k)
    values[torch.arange(rows), torch.tensor(places)] = 1.0
    return values.to(FP8)


def scales(rows: int, blocks: int, value: float = 1.0) -> Tensor:
    return torch.full((rows, blocks), value)


def reason(A: Tensor, B: Tensor, sa: float | Tensor = 1.0, sb: float | Tensor = 1.0) -> str | None:
    blocks = -(-A.shape[1] // 128)
    As = sa if isinstance(sa, Tensor) else scales(A.shape[0], blocks, sa)
    Bs = sb if isinstance(sb, Tensor) else scales(B.shape[0], blocks, sb)
    return why_not_exact(A, B, As, Bs, recipe=ROWS)


@pytest.mark.parametrize(("largest", "expected"), [(11, None), (13, "sums inside a K block reach 21632")])
def test_sums_inside_a_block_have_fourteen_bits(largest: float, expected: str | None) -> None:
    actual = reason(codes(2, 128, largest), codes(3, 128, largest))

    assert actual is None if expected is None else expected in str(actual)


def test_codes_to_thirteen_do_round_on_hopper() -> None:
    A, B, ones = codes(1, 128, 13.0), codes(1, 128, 13.0), scales(1, 1)
    A[:, -1], B[:, -1] = 1.0, 2.0

    results = dict(legal_results(A, B, ones, ones, recipe=ROWS, units=("sm90",)))

    assert not torch.equal(results["sm90 split None"].double(), exact_block_matmul(A, B, ones, ones, recipe=ROWS))
    assert reason(A, B)


def test_codes_far_apart_are_refused_and_one_alone_is_not() -> None:
    far = codes(2, 128, 0.0)
    far[:, 0], far[:, 1] = 2.0**-9, 448.0
    alone = one_hot(2, 128, [0, 127])

    assert "times their smallest bit, above 2^14" in str(reason(far, codes(3, 128, 448.0)))
    assert reason(alone, far) is None
    assert reason(far, alone) is None


def test_subnormals_align_as_normal_codes_do() -> None:
    A = codes(2, 128, 0.0)
    A[:, :2] = 2.0**-9
    B = codes(2, 128, 0.0)
    B[:, 0] = 2.0**-9
    B[:, 1] = 2.0

    actual = reason(A, B)

    assert actual == "products inside a K block align to 8192 times their smallest bit, above 2^13" or actual is None
    B[:, 1] = 4.0
    assert "align to 16384 times their smallest bit, above 2^13" in str(reason(A, B))


def test_tags_to_thirty_over_a_thousand_blocks_are_refused() -> None:
    k = 131072
    As, Bs = scales(1, 1024, 30.0), scales(1, 1024, 30.0)
    As[0, 0] = Bs[0, 0] = 1.0

    few = reason(codes(1, 128 * 18), codes(1, 128 * 18), As[:, :18], Bs[:, :18])

    assert few is None
    assert "sums over K blocks reach" in str(reason(codes(1, k), codes(1, k), As, Bs))


@pytest.mark.parametrize(("bits", "blocks", "is_exact"), [(12, 16, True), (13, 16, True), (13, 40, False)])
def test_odd_scales_of_many_blocks_are_refused(bits: int, blocks: int, is_exact: bool) -> None:
    As = torch.full((1, blocks), 2.0**bits - 1)

    actual = reason(codes(1, 128 * blocks), codes(1, 128 * blocks), As)

    assert (actual is None) is is_exact
    assert is_exact or "sums over K blocks" in str(actual)


def test_a_scale_of_24_bits_needs_a_single_product() -> None:
    full = 2.0**24 - 1
    B = codes(3, 256)

    assert "a scaled block sum reaches" in str(reason(codes(2, 256), B, full))
    assert reason(one_hot(2, 256, [5, 200]), B, full) is None


def test_two_scales_whose_product_rounds_are_refused() -> None:
    A, B = one_hot(2, 128, [0, 1]), codes(2, 128)

    assert reason(A, B, 4095.0, 4095.0) is None
    assert "a scaled block sum reaches" in str(reason(A, B, 8191.0, 8191.0))


def test_two_blocks_of_one_row_that_are_far_apart_are_refused() -> None:
    A = codes(2, 256, 0.0)
    A[0, 0] = A[0, 128] = A[1, 5] = 1.0
    sa = torch.tensor([[1.0, 2.0**30], [1.0, 2.0**30]])

    assert "sums over K blocks" in str(reason(A, codes(2, 256), sa))
    A[0, 0] = 0.0
    assert reason(A, codes(2, 256), sa) is None


def test_powers_of_two_of_a_row_or_of_a_block_cost_nothing() -> None:
    A, B = codes(4, 384), codes(4, 384)
    rows = torch.tensor([-60.0, -3.0, 0.0, 50.0]).exp2()[:, None].expand(4, 3).contiguous()
    blocks = torch.tensor([-100.0, 0.0, 90.0]).exp2()[None, :].expand(4, 3).contiguous()

    assert reason(A, B, rows, rows.flip(0).contiguous()) is None
    assert reason(A, B, blocks, 1 / blocks) is None
    assert "sums over K blocks" in str(reason(A, B, blocks))


@pytest.mark.parametrize(
    ("code", "sa", "sb", "expected"),
    [
        (1.0, 2.0**64, 2.0**64, "the product of two scales reaches"),
        (256.0, 2.0**120, 2.0**-120, "an operand of A times its scale reaches"),
        (1.0, 2.0**121, 2.0**-100, "a block sum times its A scale reaches"),
        (1.0, 2.0**-100, 2.0**121, "a block sum times its B scale reaches"),
        (1.0, 2.0**60, 2.0**61, "a scaled block sum reaches"),
        (1.0, 2.0**60, 2.0**60, None),
        (1.0, 2.0**-63, 2.0**-64, "the product of two scales falls to"),
        (2.0**-9, 2.0**-118, 2.0**118, "an operand of A times its scale falls to"),
        (2.0**-9, 2.0**-117, 2.0**118, None),
        (1.0, 2.0**-127, 1.0, "a scale is subnormal"),
    ],
)
def test_no_legal_intermediate_leaves_the_normal_numbers(code: float, sa: float, sb: float, expected: str) -> None:
    actual = reason(codes(2, 128, code), codes(2, 128), sa, sb)

    assert actual is None if expected is None else str(actual).startswith(expected)


def test_sums_of_many_blocks_may_not_overflow_and_single_products_may() -> None:
    k = 128 * 4
    sums = reason(codes(1, k), codes(1, k), 2.0**60, 2.0**59)
    single = reason(one_hot(1, k, [3]), codes(1, k, 16.0), 2.0**63, 2.0**64)

    assert str(sums).startswith("a sum of scaled block sums reaches")
    assert single is None


def test_special_values_are_left_out() -> None:
    A, As = codes(3, 256), scales(3, 2)
    A[0, 3] = math.nan
    As[1, 0], As[2, 1] = math.inf, math.nan

    actual = reason(A, codes(3, 256), As)

    assert actual is None


def test_negative_values_count_by_their_size() -> None:
    assert "21632" in str(reason(codes(1, 128, -13.0), codes(1, 128, 13.0)))
    assert "product of two scales" in str(reason(codes(1, 128), codes(1, 128), -(2.0**64), 2.0**64))


def test_scales_of_blocks_count_for_all_of_their_rows() -> None:
    A, B = codes(130, 128), codes(2, 128)
    As = torch.tensor([[1.0], [2.0**24 - 1]])

    assert why_not_exact(A[:128], B, As[:1], scales(2, 1), recipe="128x128-1x128") is None
    assert why_not_exact(A, B, As, scales(2, 1), recipe="128x128-1x128")
    assert why_not_exact(B, A, scales(2, 1), As, recipe="1x128-128x128")


def test_a_ragged_block_and_an_empty_operand_are_no_obstacle() -> None:
    assert reason(codes(2, 300), codes(3, 300)) is None
    assert why_not_exact(codes(0, 128), codes(2, 128), scales(0, 1), scales(1, 1)) is None


def test_each_format_is_measured_in_its_own_bits() -> None:
    wide = codes(1, 128, 0.0, torch.float8_e5m2)
    wide[:, 0], wide[:, 1] = 57344.0, 2.0**-16

    assert "sums inside a K block" in str(reason(wide, codes(1, 128)))
    assert reason(codes(1, 128, 2.0**-16, torch.float8_e5m2), codes(1, 128)) is None


def test_large_and_small_operands_are_judged_alike() -> None:
    rows = FEW // 2 + 1
    A, B = one_hot(rows, 256, [i % 256 for i in range(rows)]), codes(1, 256)

    assert reason(A, B, 2.0**24 - 1) is None
    assert reason(A, B, 2.0**24 - 1, 3.0)


def draw(seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Operands whose magnitudes vary, so that some are exact and some are not."""
    generator = torch.Generator().manual_seed(seed)

    def below(limit: int, *shape: int) -> Tensor:
        return torch.randint(0, limit, shape, generator=generator)

    limit, lanes, blocks = int(below(16, 1)) + 1, int(below(3, 1)), int(below(6, 1)) + 1
    operands = []
    for rows in (3, 4):
        values = (below(2 * limit + 1, rows, 128 * blocks) - limit).float() * 2.0 ** -int(below(9, 1))
        kept = below((1, 40, 128)[lanes], rows, 128 * blocks) == 0
        operands.append((values * kept).to(FP8))
    bits = 1 << int(below(18, 1))
    for rows in (3, 4):
        operands.append((below(bits, rows, blocks) + 1).float() * torch.exp2(below(9, rows, 1) - 4.0))
    return operands[0], operands[1], operands[2], operands[3]


def test_whatever_is_accepted_is_exact_in_every_arithmetic_and_order() -> None:
    accepted = rounded = 0
    for seed in range(120):
        args = draw(seed)
        exact = exact_block_matmul(*args, recipe=ROWS)
        is_exact = all(
            torch.equal(result.double(), exact) for _, result in legal_results(*args, recipe=ROWS, units=("sm90",))
        )

        reason = why_not_exact(*args, recipe=ROWS)

        assert is_exact or reason, f"draw {seed} is accepted and not exact"
        accepted, rounded = accepted + (reason is None), rounded + (not is_exact)
    assert (accepted >= 30, rounded >= 30) == (True, True), f"{accepted} accepted, {rounded} rounded"
