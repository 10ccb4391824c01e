"""The reference matmul on cases that can be worked out by hand, and on integers where every sum is exact."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from cases.stream import Stream
from reference import exact_block_matmul, native_w8a8_block_matmul

E4M3 = torch.float8_e4m3fn


def integers(name: str, low: int, high: int, *shape: int) -> Tensor:
    """Integers low .. high as float32."""
    stream = Stream(f"native/{name}", torch.device("cpu"))
    return (stream.below(high - low + 1, *shape) + low).float()


def operands(m: int, n: int, k: int, block: tuple[int, int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Integer codes -3 .. 3 under integer scales 1 .. 40, all sums below 2^24."""
    block_n, block_k = block
    a, b = integers("A", -3, 3, m, k).to(E4M3), integers("B", -3, 3, n, k).to(E4M3)
    sa, sb = integers("As", 1, 40, m, -(-k // block_k)), integers("Bs", 1, 40, -(-n // block_n), -(-k // block_k))
    return a, b, sa, sb


def plain_loop(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, block: tuple[int, int]) -> list[list[float]]:
    """The definition, one product after another, in Python's exact integers."""
    a, b, sa, sb = ([[int(v) for v in row] for row in x.float().tolist()] for x in (A, B, As, Bs))
    block_n, block_k = block
    return [
        [
            float(
                sum(a[m][k] * b[n][k] * sa[m][k // block_k] * sb[n // block_n][k // block_k] for k in range(len(a[0])))
            )
            for n in range(len(b))
        ]
        for m in range(len(a))
    ]


def test_hand_computed_product() -> None:
    A = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).to(E4M3)
    B = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, -1.0], [3.0, 1.0, 0.0]]).to(E4M3)
    As = torch.tensor([[1.0, 10.0], [100.0, 1000.0]])
    Bs = torch.tensor([[2.0, 3.0], [5.0, 7.0]])

    actual = native_w8a8_block_matmul(A, B, As, Bs, (2, 2), torch.float32)

    # Row 0: 1*2*1 + 6*3*10, 2*2*1 - 3*3*10, 5*5*1. Row 1: 4*2*100 + 12*3*1000, 5*2*100 - 6*3*1000, 17*5*100.
    assert actual.tolist() == [[182.0, -86.0, 25.0], [36800.0, -17000.0, 8500.0]]


@pytest.mark.parametrize("block", [(128, 128), (64, 64), (32, 32), (64, 32), (128, 64)])
@pytest.mark.parametrize("shape", [(3, 130, 256), (2, 64, 200), (3, 5, 31)])
def test_equals_a_plain_loop_on_integers(block: tuple[int, int], shape: tuple[int, int, int]) -> None:
    args = operands(*shape, block)

    actual = native_w8a8_block_matmul(*args, block, torch.float32)

    assert actual.tolist() == plain_loop(*args, block)


def test_equals_the_exact_oracle_on_integers() -> None:
    args = operands(17, 272, 400, (128, 128))

    actual = native_w8a8_block_matmul(*args, (128, 128), torch.float32)

    assert torch.equal(actual.double(), exact_block_matmul(*args))


def test_leading_dimensions_of_a_are_kept() -> None:
    A, B, As, Bs = operands(6, 5, 70, (4, 32))

    actual = native_w8a8_block_matmul(A.reshape(2, 3, 70), B, As.reshape(2, 3, 3), Bs, (4, 32), torch.float32)

    expected = native_w8a8_block_matmul(A, B, As, Bs, (4, 32), torch.float32)
    assert torch.equal(actual, expected.reshape(2, 3, 5))


def test_a_vector_gives_a_vector() -> None:
    A, B, As, Bs = operands(1, 5, 70, (4, 32))

    actual = native_w8a8_block_matmul(A[0], B, As[0], Bs, (4, 32), torch.float32)

    assert actual.tolist() == plain_loop(A, B, As, Bs, (4, 32))[0]


def test_strided_operands_give_the_same_result() -> None:
    A, B, As, Bs = operands(6, 9, 70, (4, 32))
    a, b, sa, sb = (x.t().contiguous().t() for x in (A, B, As, Bs))
    assert not any(x.is_contiguous() for x in (a, b, sa, sb))

    actual = native_w8a8_block_matmul(a, b, sa, sb, (4, 32), torch.float32)

    assert torch.equal(actual, native_w8a8_block_matmul(A, B, As, Bs, (4, 32), torch.float32))


def test_every_other_row_of_larger_operands_gives_the_same_result() -> None:
    A, B, As, Bs = operands(6, 9, 70, (4, 32))
    wide_a, wide_b = A.repeat_interleave(2, 0)[::2], B.repeat_interleave(2, 1)[:, ::2]

    actual = native_w8a8_block_matmul(wide_a, wide_b, As, Bs, (4, 32), torch.float32)

    assert torch.equal(actual, native_w8a8_block_matmul(A, B, As, Bs, (4, 32), torch.float32))


@pytest.mark.parametrize(("out_dtype", "expected"), [(torch.bfloat16, 258.0), (torch.float16, 258.0)])
def test_the_result_is_cast_once_at_the_end(out_dtype: torch.dtype, expected: float) -> None:
    A, B = torch.tensor([[256.0, 1.0, 1.0]]).to(E4M3), torch.ones(1, 3).to(E4M3)

    actual = native_w8a8_block_matmul(A, B, torch.ones(1, 3), torch.ones(1, 3), (1, 1), out_dtype)

    assert actual.dtype == out_dtype
    assert actual.item() == expected, "256 + 1 rounded to bfloat16 after each K tile would stay 256"


def test_operands_are_multiplied_in_the_compute_type() -> None:
    A, B = torch.ones(1, 257).to(E4M3), torch.ones(1, 257).to(E4M3)
    scale = torch.ones(1, 1)

    actual = native_w8a8_block_matmul(A, B, scale, scale, (512, 512), torch.float32, compute_type=torch.bfloat16)

    assert actual.item() == 256.0, "257 is no bfloat16"
    assert native_w8a8_block_matmul(A, B, scale, scale, (512, 512), torch.float32).item() == 257.0


def test_scales_are_multiplied_first_and_applied_after_the_partial_product() -> None:
    A, B = torch.tensor([[11.0]]).to(E4M3), torch.tensor([[13.0]]).to(E4M3)
    As, Bs = (torch.tensor([[bits]], dtype=torch.int32).view(torch.float32) for bits in (0x3FF28F25, 0x3FE5EDF4))

    actual = native_w8a8_block_matmul(A, B, As, Bs, (128, 128), torch.float32)

    assert actual.view(torch.int32).item() == 0x43F3633B, "docs/arithmetic.md: the other two orders end in 3c and 3a"


def test_int8_operands_use_their_whole_range() -> None:
    A = torch.tensor([[127, -128, 3]], dtype=torch.int8)
    B = torch.tensor([[127, 127, 127], [-128, -128, 1]], dtype=torch.int8)

    actual = native_w8a8_block_matmul(A, B, torch.tensor([[2.0, 4.0]]), torch.ones(1, 2), (2, 2), torch.float32)

    assert actual.tolist() == [[2.0 * (127 * 127 - 128 * 127) + 4.0 * 381, 2.0 * (-127 * 128 + 128 * 128) + 12.0]]


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((2, 128), (3, 64), (2, 1), (1, 1)), "their K differ, 128 and 64"),
        (((2, 130), (3, 130), (2, 1), (1, 2)), r"As must have shape \(2, 2\), got \(2, 1\)"),
        (((2, 130), (3, 130), (1, 2), (1, 2)), r"As must have shape \(2, 2\), got \(1, 2\)"),
        (((2, 130), (129, 130), (2, 2), (1, 2)), r"Bs must have shape \(2, 2\), got \(1, 2\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes: tuple[tuple[int, int], ...], message: str) -> None:
    a, b, sa, sb = shapes

    with pytest.raises(ValueError, match=message):
        native_w8a8_block_matmul(
            torch.ones(a).to(E4M3), torch.ones(b).to(E4M3), torch.ones(sa), torch.ones(sb), (128, 128), torch.float32
        )
