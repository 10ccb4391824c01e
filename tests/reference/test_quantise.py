"""The dynamic quantisers against a loop over their groups, one element at a time."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from cases.stream import Stream
from reference import per_block_quant_fp8, per_token_group_quant_fp8
from reference.quantise import round_up_to_power_of_two

ZERO_SCALE = (torch.tensor(1e-10) / 448).item()


def normal(name: str, *shape: int) -> Tensor:
    return Stream(f"quantise/{name}", torch.device("cpu")).normal(*shape)


def float32(value: float) -> float:
    return float(torch.tensor(value, dtype=torch.float64).float())


def nearest_code(value: float, dtype: torch.dtype) -> float:
    """The value of ``dtype`` nearest to ``value``; of two equally near ones, the one whose code is even."""
    codes = torch.arange(256, dtype=torch.uint8)
    table = [(v, c) for c, v in enumerate(codes.view(dtype).to(torch.float32).tolist()) if math.isfinite(v)]
    return min(table, key=lambda entry: (abs(entry[0] - value), entry[1] % 2))[0]


def expected_scale(group: list[float], limit: float) -> float:
    largest = max(float32(1e-10), *(abs(v) for v in group))
    return float32(largest / limit)


def spread(scales: Tensor, rows: int, columns: int, block: tuple[int, int]) -> Tensor:
    """``scales`` repeated to one per element."""
    return torch.tensor([[scales[r // block[0], c // block[1]].item() for c in range(columns)] for r in range(rows)])


@pytest.mark.parametrize("k", [64, 96, 70])
def test_group_scales_are_those_of_a_plain_loop(k: int) -> None:
    x = normal("loop", 3, k)

    _, scales = per_token_group_quant_fp8(x, 32)

    rows = x.tolist()
    expected = [[expected_scale(row[i : i + 32], 448.0) for i in range(0, k, 32)] for row in rows]
    assert scales.tolist() == expected


@pytest.mark.parametrize(
    ("dtype", "limit"), [(torch.float8_e4m3fn, 448.0), (torch.float8_e5m2, 57344.0), (torch.float8_e4m3fnuz, 224.0)]
)
def test_group_codes_are_the_nearest_of_the_format(dtype: torch.dtype, limit: float) -> None:
    x = normal("codes", 2, 40)

    q, scales = per_token_group_quant_fp8(x, 16, dtype=dtype)

    assert q.dtype == dtype
    quotients = (x / spread(scales, 2, 40, (1, 16))).tolist()
    expected = [[nearest_code(max(-limit, min(limit, v)), dtype) for v in row] for row in quotients]
    assert q.to(torch.float32).tolist() == expected


def test_codes_are_rounded_from_quotients_and_not_from_products_with_a_reciprocal() -> None:
    q, scales = per_token_group_quant_fp8(torch.tensor([[448.0 * 15, 21.0 * 15]]), 2)

    assert scales.tolist() == [[15.0]]
    assert q.to(torch.float32).tolist() == [[448.0, 20.0]], "315 * (1 / 15) lies above the tie at 21"


def test_fnuz_groups_reach_224_and_not_240() -> None:
    q, scales = per_token_group_quant_fp8(torch.tensor([[112.0, -1.0]]), 2, dtype=torch.float8_e4m3fnuz)

    assert scales.tolist() == [[0.5]]
    assert q.to(torch.float32).tolist() == [[224.0, -2.0]]


def test_hand_computed_groups() -> None:
    x = torch.tensor([[448.0, -2.0, 896.0, 1.0, -224.0]])

    q, scales = per_token_group_quant_fp8(x, 2)

    assert scales.tolist() == [[1.0, 2.0, 0.5]]
    assert q.to(torch.float32).tolist() == [[448.0, -2.0, 448.0, 0.5, -448.0]]


def test_a_group_of_zeros_gets_the_smallest_scale() -> None:
    q, scales = per_token_group_quant_fp8(torch.zeros(1, 128), 128)

    assert scales.item() == ZERO_SCALE > 0
    assert (q.to(torch.float32) == 0).all()


def test_eps_is_the_smallest_amax() -> None:
    _, scales = per_token_group_quant_fp8(torch.tensor([[0.5, 3.5]]), 1, eps=1.75)

    assert scales.tolist() == [[1.75 / 448, 3.5 / 448]]


def test_bfloat16_input_is_quantised_in_float32() -> None:
    x = normal("bf16", 2, 64).bfloat16()

    actual = per_token_group_quant_fp8(x, 32)

    q, scales = per_token_group_quant_fp8(x.float(), 32)
    assert torch.equal(actual[1], scales)
    assert torch.equal(actual[0].view(torch.uint8), q.view(torch.uint8))


@pytest.mark.parametrize("rows", [1, 4, 5, 7])
@pytest.mark.parametrize(("tma", "multiple"), [(False, 1), (True, 4)])
def test_column_major_scales_have_the_same_values_in_other_strides(rows: int, tma: bool, multiple: int) -> None:
    x = normal("layout", rows, 40)
    q, plain = per_token_group_quant_fp8(x, 16)

    q_laid_out, scales = per_token_group_quant_fp8(x, 16, column_major_scales=True, tma_aligned_scales=tma)

    assert plain.stride() == (3, 1)
    assert scales.stride() == (1, math.ceil(rows / multiple) * multiple)
    assert torch.equal(scales, plain)
    assert torch.equal(q_laid_out.view(torch.uint8), q.view(torch.uint8))


def test_leading_dimensions_are_kept() -> None:
    x = normal("batch", 2, 3, 40)

    q, scales = per_token_group_quant_fp8(x, 16)

    assert (q.shape, scales.shape) == ((2, 3, 40), (2, 3, 3))
    for i in range(2):
        q_one, scales_one = per_token_group_quant_fp8(x[i], 16)
        assert torch.equal(scales[i], scales_one)
        assert torch.equal(q[i].view(torch.uint8), q_one.view(torch.uint8))


def test_column_major_scales_of_a_batch_lie_column_major_in_each_matrix() -> None:
    x = normal("batch", 2, 5, 40)

    _, scales = per_token_group_quant_fp8(x, 16, column_major_scales=True, tma_aligned_scales=True)

    assert scales.stride()[1:] == (1, 8)
    assert torch.equal(scales, per_token_group_quant_fp8(x, 16)[1])


def test_vector_scales_keep_their_shape_when_column_major() -> None:
    x = normal("vector", 40)

    _, scales = per_token_group_quant_fp8(x, 16, column_major_scales=True)

    assert scales.shape == per_token_group_quant_fp8(x, 16)[1].shape


def test_a_strided_input_gives_the_same_result() -> None:
    x = normal("strided", 40, 6)

    actual_q, actual_scales = per_token_group_quant_fp8(x.t(), 16)

    q, scales = per_token_group_quant_fp8(x.t().contiguous(), 16)
    assert actual_q.is_contiguous()
    assert torch.equal(actual_scales, scales)
    assert torch.equal(actual_q.view(torch.uint8), q.view(torch.uint8))


def test_a_ragged_last_group_does_not_see_its_neighbour() -> None:
    x = torch.tensor([[448.0, 448.0, 448.0, 7.0]])

    _, scales = per_token_group_quant_fp8(x, 3)

    assert scales.tolist() == [[1.0, 7.0 / 448]]


def test_ue8m0_scales_are_the_next_power_of_two() -> None:
    x = normal("ue8m0", 8, 128) * 2.0 ** torch.arange(-12, 12, 3)[:, None]

    _, plain = per_token_group_quant_fp8(x, 16)
    _, scales = per_token_group_quant_fp8(x, 16, use_ue8m0=True)

    assert scales.dtype == torch.float32
    assert all(math.frexp(s)[0] == 0.5 for s in scales.flatten().tolist())
    assert (scales >= plain).all()
    assert (scales < 2 * plain).all()


def test_ue8m0_codes_belong_to_the_rounded_scale() -> None:
    q, scales = per_token_group_quant_fp8(torch.tensor([[450.0, 7.0]]), 2, use_ue8m0=True)

    assert scales.tolist() == [[2.0]]
    assert q.to(torch.float32).tolist() == [[224.0, 3.5]]


def test_ue8m0_scale_of_zeros_is_rounded_up_from_the_smallest() -> None:
    _, scales = per_token_group_quant_fp8(torch.zeros(1, 128), 128, use_ue8m0=True)

    assert scales.item() == 2.0**-33


@pytest.mark.parametrize("exponent", [-33, -32, -1, 0, 1, 13, 126])
def test_a_power_of_two_is_rounded_to_itself_and_its_successor_up(exponent: int) -> None:
    power = torch.tensor(2.0**exponent)
    above = torch.nextafter(power, torch.tensor(math.inf))

    actual = round_up_to_power_of_two(torch.stack([power, above]))

    assert actual.tolist() == [2.0**exponent, 2.0 ** (exponent + 1)]


def test_block_scales_are_those_of_a_plain_loop() -> None:
    w = normal("blocks", 7, 11)

    _, scales = per_block_quant_fp8(w, (3, 4))

    rows = w.tolist()
    blocks = [[[v for row in rows[r : r + 3] for v in row[c : c + 4]] for c in (0, 4, 8)] for r in (0, 3, 6)]
    assert scales.tolist() == [[expected_scale(block, 448.0) for block in row] for row in blocks]


def test_block_codes_are_the_nearest_of_the_format() -> None:
    w = normal("blocks", 7, 11)

    q, scales = per_block_quant_fp8(w, (3, 4))

    quotients = (w / spread(scales, 7, 11, (3, 4))).tolist()
    assert (q.dtype, q.shape) == (torch.float8_e4m3fn, (7, 11))
    assert q.is_contiguous()
    assert q.to(torch.float32).tolist() == [[nearest_code(v, torch.float8_e4m3fn) for v in row] for row in quotients]


def test_default_blocks_are_128_by_128_and_may_be_ragged_both_ways() -> None:
    w = torch.ones(130, 257)
    w[:128, 128:256] = 2.0
    w[128:, :128] = 3.0
    w[129, 256] = -4.0

    q, scales = per_block_quant_fp8(w)

    unit = torch.tensor(448.0)
    assert scales.tolist() == (torch.tensor([[1.0, 2.0, 1.0], [3.0, 1.0, 4.0]]) / unit).tolist()
    assert q.to(torch.float32)[129, 254:].tolist() == [448.0, 448.0, -448.0]


def test_a_block_of_zeros_gets_the_smallest_scale() -> None:
    _, scales = per_block_quant_fp8(torch.zeros(2, 2), (2, 1))

    assert scales.tolist() == [[ZERO_SCALE, ZERO_SCALE]]


def test_ue8m0_block_scales_are_the_next_power_of_two() -> None:
    w = torch.tensor([[448.0, 450.0, 0.0]])

    _, scales = per_block_quant_fp8(w, (1, 1), use_ue8m0=True)

    assert scales.tolist() == [[1.0, 2.0, 2.0**-33]]


@pytest.mark.parametrize("size", [0, -128])
def test_a_group_size_below_one_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"group_size must be at least 1, got {size}"):
        per_token_group_quant_fp8(torch.ones(1, 128), size)


def test_tma_alignment_without_column_major_scales_is_refused() -> None:
    with pytest.raises(ValueError, match="pass column_major_scales=True"):
        per_token_group_quant_fp8(torch.ones(1, 128), 128, tma_aligned_scales=True)


def test_a_dtype_that_is_no_fp8_is_refused() -> None:
    with pytest.raises(TypeError, match="is no FP8 format"):
        per_token_group_quant_fp8(torch.ones(1, 128), 128, dtype=torch.int8)


def test_blocks_of_anything_but_a_matrix_are_refused() -> None:
    with pytest.raises(ValueError, match=r"w must be a matrix \[N, K\], got shape \(2, 3, 4\)"):
        per_block_quant_fp8(torch.ones(2, 3, 4))
