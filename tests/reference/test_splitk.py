"""The inference of split plans from the bits of an output."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from cases.stream import Stream
from reference import emulate_block_scaled_mm, infer_split_k
from reference.splitk import plans

E4M3 = torch.float8_e4m3fn
RECIPES = {"1x128-128x128": (1, 128), "128x128-1x128": (128, 1), "1x128-1x128": (1, 1)}
OUT_DTYPES = (torch.float32, torch.bfloat16, torch.float16)
Operands = tuple[Tensor, Tensor, Tensor, Tensor]


def build(m: int = 6, n: int = 8, k: int = 2048, recipe: str = "1x128-128x128") -> Operands:
    """Real data: which plan computed it shows in the last bits."""
    stream = Stream(f"splitk/{m}-{n}-{k}", torch.device("cpu"))
    a_rows, b_rows = RECIPES[recipe]
    kb = -(-k // 128)
    return (
        stream.child("A").normal(m, k).to(E4M3),
        stream.child("B").normal(n, k).to(E4M3),
        stream.child("As").floats(-2, 2, -(-m // a_rows), kb),
        stream.child("Bs").floats(-2, 2, -(-n // b_rows), kb),
    )


def build_integers(k: int = 2048) -> Operands:
    """Data whose every partial sum is exact, so that no plan differs from another."""
    stream = Stream("splitk/integers", torch.device("cpu"))
    a, b = (stream.child(name).below(3, 4, k).float() - 1 for name in "AB")
    return a.to(E4M3), b.to(E4M3), torch.ones(4, k // 128), torch.ones(1, k // 128)


def test_plans_are_the_whole_and_every_multiple_of_four_below_it() -> None:
    actual = {kb: plans(kb) for kb in (1, 4, 5, 12, 56)}

    assert actual[1] == (1,)
    assert actual[4] == (4,)
    assert actual[5] == (5, 4)
    assert actual[12] == (12, 4, 8)
    assert actual[56] == (56, *(4 * i for i in range(1, 14)))


@pytest.mark.parametrize("plan", [4, 8, 12])
def test_the_plan_that_computed_an_output_is_found(plan: int) -> None:
    args = build(m=16, n=32)
    out = emulate_block_scaled_mm(*args, out_dtype=torch.float32, split_k=plan)

    actual = infer_split_k(*args, out)

    assert (actual.plan, actual.explained, actual.total) == (plan, 512, 512)
    assert actual.alternatives == ()


@pytest.mark.parametrize("plan", [4, 8, 12])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_an_output_of_fewer_bits_is_explained_and_may_be_ambiguous(plan: int, dtype: torch.dtype) -> None:
    args = build(m=16, n=32)
    out = emulate_block_scaled_mm(*args, out_dtype=dtype, split_k=plan)

    actual = infer_split_k(*args, out)

    assert plan in (actual.plan, *actual.alternatives)
    assert (actual.explained, actual.total) == (512, 512)


@pytest.mark.parametrize("recipe", list(RECIPES))
@pytest.mark.parametrize("plan", [8, None])
def test_the_plan_is_found_in_every_recipe(recipe: str, plan: int | None) -> None:
    args = build(m=130, n=131, recipe=recipe)
    out = emulate_block_scaled_mm(*args, recipe=recipe, out_dtype=torch.float32, split_k=plan)

    actual = infer_split_k(*args, out, recipe=recipe)

    assert (actual.plan, actual.explained, actual.alternatives) == (plan or 16, 130 * 131, ())


@pytest.mark.parametrize(("k", "expected"), [(128, 1), (640, 5), (1100, 9), (2048, 16)])
def test_an_output_without_split_is_explained_by_all_blocks_in_one_chunk(k: int, expected: int) -> None:
    args = build(k=k)
    out = emulate_block_scaled_mm(*args, out_dtype=torch.float32)

    actual = infer_split_k(*args, out)

    assert (actual.plan, actual.alternatives) == (expected, ())


@pytest.mark.parametrize("dtype", OUT_DTYPES, ids=str)
def test_one_altered_bit_leaves_nothing_that_explains_the_output(dtype: torch.dtype) -> None:
    args = build()
    out = emulate_block_scaled_mm(*args, out_dtype=dtype, split_k=4)
    out.view(torch.int32 if dtype == torch.float32 else torch.int16)[3, 5] ^= 1

    actual = infer_split_k(*args, out)

    assert (actual.plan, actual.explained, actual.total) == (None, 47, 48)
    assert actual.alternatives == ()
    assert dtype != torch.float32 or actual.best == 4


def test_rows_of_two_plans_leave_nothing_that_explains_the_output() -> None:
    args = build(m=16, n=32)
    out = emulate_block_scaled_mm(*args, out_dtype=torch.float32, split_k=4)
    out[5:] = emulate_block_scaled_mm(*args, out_dtype=torch.float32, split_k=8)[5:]

    actual = infer_split_k(*args, out)

    assert (actual.plan, actual.best) == (None, 8)
    assert 11 * 32 <= actual.explained < actual.total == 512


def test_a_plan_outside_the_list_is_not_explained() -> None:
    args = build(m=16, n=32)
    out = emulate_block_scaled_mm(*args, out_dtype=torch.float32, split_k=3)

    actual = infer_split_k(*args, out)

    assert actual.plan is None
    assert actual.explained < actual.total


def test_exact_data_names_every_plan_as_an_alternative() -> None:
    args = build_integers()
    out = emulate_block_scaled_mm(*args, out_dtype=torch.float32, split_k=8)

    actual = infer_split_k(*args, out)

    assert (actual.plan, actual.explained) == (16, 16)
    assert set(actual.alternatives) == {4, 8, 12}


def test_nan_explains_nan_of_other_bits() -> None:
    A, B, As, Bs = build()
    As[2] = float("nan")
    out = emulate_block_scaled_mm(A, B, As, Bs, out_dtype=torch.float32, split_k=4)
    out.view(torch.int32)[2] = 0x7FFFFFFF

    actual = infer_split_k(A, B, As, Bs, out)

    assert (actual.plan, actual.explained) == (4, 48)


def test_a_nan_explains_no_number() -> None:
    args = build()
    out = emulate_block_scaled_mm(*args, out_dtype=torch.float32, split_k=4)
    out[0, 0] = float("nan")

    actual = infer_split_k(*args, out)

    assert (actual.plan, actual.explained) == (None, 47)


def test_a_strided_output_is_read_element_by_element() -> None:
    args = build()
    out = emulate_block_scaled_mm(*args, out_dtype=torch.float32, split_k=4)

    actual = infer_split_k(*args, out.t().contiguous().t())

    assert actual.plan == 4


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_tile_size_does_not_matter(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    args = build(k=1024)
    out = emulate_block_scaled_mm(*args, out_dtype=torch.float32, split_k=4)

    monkeypatch.setattr("reference.tiles.CPU_TILE", limit)
    actual = infer_split_k(*args, out)

    assert (actual.plan, actual.explained, actual.total) == (4, 48, 48)


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (6, 9)])
def test_an_output_of_another_shape_is_refused(shape: tuple[int, int]) -> None:
    args = build(k=128)

    with pytest.raises(ValueError, match="shape"):
        infer_split_k(*args, torch.zeros(shape))


def test_an_output_of_another_dtype_is_refused() -> None:
    args = build(k=128)

    with pytest.raises(TypeError, match=r"float32, bfloat16 or float16, got torch\.float64"):
        infer_split_k(*args, torch.zeros(6, 8, dtype=torch.float64))


def test_scales_that_do_not_fit_are_refused() -> None:
    A, B, As, Bs = build(k=256)

    with pytest.raises(ValueError, match="Bs must have shape"):
        infer_split_k(A, B, As, Bs[:, :1], torch.zeros(6, 8))
