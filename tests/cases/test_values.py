"""The value families: pinned bytes, what they depend on, and what makes each of them able to show a fault."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from cases import FAMILIES, OUT_DTYPES, Case, Problem, plan
from cases.families import PLANNED, scale_limit
from cases.operands import Operands, build_operands, digest_of
from reference import emulate_block_scaled_mm, exact_block_matmul, native_w8a8_block_matmul

RECIPES = {"1x128-128x128": (1, 128), "128x128-1x128": (128, 1), "1x128-1x128": (1, 1)}
every_family = pytest.mark.parametrize("family", PLANNED)
every_recipe = pytest.mark.parametrize("recipe", list(RECIPES))


def build(
    family: str, m: int = 5, n: int = 272, k: int = 400, *, case_seed: int = 0, seed: int = 0, **problem: str
) -> Operands:
    return build_operands(Case(Problem(m, n, k, **problem), FAMILIES[family], case_seed), seed=seed)


# Bytes.


@pytest.mark.parametrize(
    ("family", "recipe", "expected"),
    [
        ("tagged-integers", "1x128-128x128", "3d02f6175dd74e88"),
        ("tagged-integers", "1x128-1x128", "1abec454d1a2646d"),
        ("uniform-codes", "1x128-128x128", "f46fa41a4f43d821"),
        ("uniform-codes", "1x128-1x128", "3af8223ef6494c0c"),
        ("quantised-normal", "1x128-128x128", "ffd12c1cb76d3106"),
        ("special-values", "1x128-128x128", "72acf39829f51779"),
        ("quantised-normal", "1x128-1x128", "40f0e8c31dee0de7"),
    ],
)
def test_bytes_never_change(family: str, recipe: str, expected: str) -> None:
    actual = build(family, recipe=recipe).digest

    assert actual == expected


@every_family
def test_bytes_do_not_depend_on_the_output_dtype(family: str) -> None:
    actual = {build(family, out=out).digest for out in OUT_DTYPES}

    assert len(actual) == 1


@every_family
def test_everything_else_changes_the_bytes(family: str) -> None:
    digests = {
        build(family).digest,
        build(family, case_seed=1).digest,
        build(family, seed=1).digest,
        build(family, case_seed=1, seed=1).digest,
        build(family, recipe="1x128-1x128").digest,
        build(family, m=6).digest,
    }

    assert len(digests) == 6


@every_family
@every_recipe
def test_operands_have_the_shapes_and_dtypes_of_their_problem(family: str, recipe: str) -> None:
    A, B, As, Bs = build(family, m=130, n=272, k=400, recipe=recipe).tensors

    a_rows, b_rows = RECIPES[recipe]
    assert (A.shape, B.shape) == ((130, 400), (272, 400))
    assert (As.shape, Bs.shape) == ((-(-130 // a_rows), 4), (-(-272 // b_rows), 4))
    assert A.dtype == B.dtype == torch.float8_e4m3fn
    assert As.dtype == Bs.dtype == torch.float32
    assert all(x.is_contiguous() for x in (A, B, As, Bs))


@every_family
@pytest.mark.parametrize(("a", "b"), [("e5m2", "e4m3fn"), ("e4m3fn", "e5m2"), ("e4m3fnuz", "e4m3fnuz")])
def test_operands_have_the_fp8_formats_of_their_problem(family: str, a: str, b: str) -> None:
    problem = Problem(5, 272, 400, a=a, b=b)

    A, B, _, _ = build(family, a=a, b=b).tensors

    assert (A.dtype, B.dtype) == (problem.a_dtype, problem.b_dtype)


@every_family
@every_recipe
def test_all_values_are_finite(family: str, recipe: str) -> None:
    tensors = build(family, m=130, recipe=recipe).tensors

    assert all(torch.isfinite(x.to(torch.float32)).all() for x in tensors)
    assert all((scale > 0).all() for scale in tensors[2:])


@every_family
def test_the_operands_of_a_case_differ_from_one_another(family: str) -> None:
    A, B, _, _ = build(family, m=272, n=272).tensors

    assert (A.view(torch.uint8) != B.view(torch.uint8)).double().mean() > 0.4
    assert (A.view(torch.uint8) != A.view(torch.uint8).roll(1, 0)).double().mean() > 0.4
    assert (A.view(torch.uint8) != A.view(torch.uint8).roll(1, 1)).double().mean() > 0.4


def test_a_digest_is_that_of_the_logical_bytes() -> None:
    x = torch.arange(12, dtype=torch.float32).reshape(3, 4)

    assert digest_of(x) == digest_of(x.t().contiguous().t())
    assert len(digest_of(x)) == 16


def test_a_digest_tells_values_shapes_dtypes_and_order_apart() -> None:
    x, y = torch.zeros(3, 4), torch.ones(3, 4)
    negative_zero = x.clone()
    negative_zero[2, 3] = -0.0

    digests = {
        digest_of(x, y),
        digest_of(y, x),
        digest_of(x, x),
        digest_of(negative_zero, y),
        digest_of(x.reshape(4, 3), y),
        digest_of(x.int(), y),
        digest_of(x),
    }

    assert len(digests) == 7


# What each family promises.


@pytest.mark.parametrize(("dtype", "finite"), [("e4m3fn", 254), ("e5m2", 248), ("e4m3fnuz", 255), ("e5m2fnuz", 255)])
def test_uniform_codes_are_all_the_finite_ones(dtype: str, finite: int) -> None:
    A, B, _, _ = build("uniform-codes", m=64, n=64, k=256, a=dtype, b=dtype).tensors

    for operand in (A, B):
        assert operand.view(torch.uint8).unique().numel() == finite
        assert torch.isfinite(operand.to(torch.float32)).all()


@every_recipe
def test_uniform_codes_have_wide_independent_scales_with_odd_mantissas(recipe: str) -> None:
    _, _, As, Bs = build("uniform-codes", m=256, n=512, k=1024, recipe=recipe).tensors

    for scale in (As, Bs):
        assert (scale.view(torch.int32) & 1 == 1).all()
        assert scale.min() >= 2.0**-10
        assert scale.max() < 2.0**-4
        assert scale.unique().numel() >= 0.999 * scale.numel()


@every_family
@every_recipe
def test_scales_spread_widely(family: str, recipe: str) -> None:
    _, _, As, Bs = build(family, m=256, n=576, k=1024, recipe=recipe).tensors

    for scale in (As, Bs):
        assert (scale.max() / scale.min()).item() >= 12


@every_family
def test_scales_of_the_two_sides_differ(family: str) -> None:
    _, _, As, Bs = build(family, m=272, n=272, recipe="1x128-1x128").tensors

    assert (As != Bs).double().mean() > 0.8


@every_family
@every_recipe
def test_scales_of_neighbouring_blocks_differ(family: str, recipe: str) -> None:
    _, _, As, Bs = build(family, m=256, n=576, k=1024, recipe=recipe).tensors

    for scale in (As, Bs):
        assert (scale[1:] != scale[:-1]).double().mean() >= 0.8
        assert (scale[:, 1:] != scale[:, :-1]).double().mean() >= 0.8


def test_quantised_normal_comes_from_the_quantisers() -> None:
    A, B, As, Bs = build("quantised-normal", m=5, n=272, k=400).tensors

    a, b = A.to(torch.float32).abs(), B.to(torch.float32).abs()
    a_peaks = torch.stack([block.amax(1) for block in a.split(128, 1)], 1)
    b_peaks = torch.stack([torch.stack([part.amax() for part in rows.split(128, 1)]) for rows in b.split(128, 0)])
    assert (a_peaks == 448).all(), "the largest element of a group is quantised to the largest code"
    assert (b_peaks == 448).all()
    assert As.max() < 0.1
    assert Bs.max() < 0.1 / 16 * 2


# Special values.


CODES = [1.0, 0.0, -0.0, -1.0, 2.0**-9, 448.0, -448.0, math.nan]
SCALES = [1.0, math.nan, math.inf, -math.inf, 0.0, 1e-40, 1e-45, 3e38, 1e38, 1e-38, 1e-30, 1e30, -1.0]


def bits(values: Tensor) -> list[int]:
    """The bits of float32 values, every NaN alike."""
    return torch.where(values.isnan(), math.nan, values).view(torch.int32).tolist()


def test_special_values_meet_in_every_pair_of_code_and_scale_on_either_side() -> None:
    A, B, As, Bs = build("special-values", 104, 104, 128, recipe="1x128-1x128").tensors

    expected = {(code, scale) for code in bits(torch.tensor(CODES)) for scale in bits(torch.tensor(SCALES))}
    for codes, scales in ((A, As), (B, Bs)):
        actual = set(zip(bits(codes.to(torch.float32)[:, 0]), bits(scales[:, 0]), strict=True))
        assert actual == expected


@every_recipe
def test_special_codes_stand_alone_in_their_rows(recipe: str) -> None:
    A, B, As, Bs = build("special-values", 104, 104, 300, recipe=recipe).tensors

    assert (A.view(torch.uint8)[:, 1:] == 0).all()
    assert (B.view(torch.uint8)[:, 1:] == 0).all()
    assert all(bits(scale[:, 0]) == bits(scale[:, -1]) for scale in (As, Bs))


def test_special_scales_of_blocks_change_from_block_to_block() -> None:
    _, _, _, Bs = build("special-values", 104, 128 * 13, 128).tensors

    assert bits(Bs[:, 0]) == bits(torch.tensor(SCALES))


# Tagged integers.


def tag_patterns() -> list[tuple[str, Tensor]]:
    """Scales of the shapes and limits that plans hold, as (name, [rows, K blocks])."""
    patterns = []
    for m, n, k in ((129, 576, 7168), (127, 272, 1040), (257, 576, 2304)):
        _, _, As, Bs = build("tagged-integers", m, n, k).tensors
        patterns += [(f"As-m{m}-k{k}", As), (f"Bs-n{n}-k{k}", Bs)]
    return patterns


every_pattern = pytest.mark.parametrize(("name", "scale"), tag_patterns(), ids=[name for name, _ in tag_patterns()])


@every_recipe
@pytest.mark.parametrize("k", [400, 2560, 7168])
def test_tags_are_integers_up_to_the_limit(recipe: str, k: int) -> None:
    problem = Problem(256, 576, k, recipe=recipe)

    _, _, As, Bs = build("tagged-integers", 256, 576, k, recipe=recipe).tensors

    for scale in (As, Bs):
        assert torch.equal(scale, scale.round())
        assert 1 <= scale.min().item() <= scale.max().item() <= scale_limit(problem)


def test_tags_use_every_integer_up_to_the_limit() -> None:
    _, _, As, _ = build("tagged-integers", 256, 16, 2560).tensors

    assert As.unique().tolist() == list(range(1, 31))


@every_pattern
def test_neighbouring_tags_differ(name: str, scale: Tensor) -> None:
    assert (scale[1:] != scale[:-1]).all(), name
    assert (scale[:, 1:] != scale[:, :-1]).all(), name
    assert (scale[1:, :-1] != scale[:-1, 1:]).all(), name


def share_that_moves(scale: Tensor, other: Tensor) -> float:
    return (scale != other).double().mean().item()


@every_pattern
def test_no_shift_of_rows_maps_the_tags_onto_themselves(name: str, scale: Tensor) -> None:
    for shift in range(1, min(257, scale.shape[0])):
        assert share_that_moves(scale[shift:], scale[:-shift]) >= 0.5, f"{name} by {shift} rows"
        assert share_that_moves(scale.roll(shift, 0), scale) >= 0.5, f"{name} around by {shift} rows"


@every_pattern
def test_no_shift_of_blocks_maps_the_tags_onto_themselves(name: str, scale: Tensor) -> None:
    for shift in range(1, scale.shape[1]):
        assert share_that_moves(scale[:, shift:], scale[:, :-shift]) >= 0.5, f"{name} by {shift} K blocks"
        assert share_that_moves(scale.roll(shift, 1), scale) >= 0.5, f"{name} around by {shift} K blocks"


@every_pattern
def test_no_shift_in_memory_maps_the_tags_onto_themselves(name: str, scale: Tensor) -> None:
    for memory in (scale.flatten(), scale.t().flatten()):
        for shift in range(1, min(257, memory.numel() - 8)):
            assert share_that_moves(memory[shift:], memory[:-shift]) >= 0.5, f"{name} by {shift} elements"


@every_pattern
def test_transposition_does_not_map_the_tags_onto_themselves(name: str, scale: Tensor) -> None:
    rows, columns = scale.shape

    as_if_transposed = scale.t().reshape(rows, columns)

    assert share_that_moves(as_if_transposed, scale) >= 0.5, name
    side = min(rows, columns)
    square = scale[:side, :side]
    off_diagonal = ~torch.eye(side, dtype=torch.bool)
    assert (square != square.t())[off_diagonal].double().mean() >= 0.5, name


@every_pattern
@pytest.mark.parametrize("change", [-3, -2, -1, 1, 2, 3, 4])
def test_another_leading_dimension_does_not_map_the_tags_onto_themselves(name: str, scale: Tensor, change: int) -> None:
    for matrix in (scale, scale.t()):
        rows, columns = matrix.shape
        leading = columns + change
        memory = matrix.flatten()
        index = torch.arange(rows)[1:, None] * leading + torch.arange(columns)
        inside = (index >= 0) & (index < memory.numel())
        wrong = memory[index.clamp(0, memory.numel() - 1)]
        assert inside.any()
        assert (wrong != matrix[1:])[inside].double().mean() >= 0.5, name


def test_tags_differ_between_streams_of_other_seeds() -> None:
    first, second = (build("tagged-integers", 129, 576, 7168, case_seed=s).As for s in (0, 1))

    assert share_that_moves(first, second) >= 0.5


def test_a_period_of_three_would_be_seen_by_these_checks() -> None:
    row, column = torch.arange(129)[:, None], torch.arange(56)
    periodic = ((row + 2 * column) % 3).float()

    assert share_that_moves(periodic[3:], periodic[:-3]) == 0


def test_tagged_codes_are_ternary_and_half_of_them_zero() -> None:
    A, B, _, _ = build("tagged-integers", m=64, n=272).tensors

    for operand in (A, B):
        values = operand.to(torch.float32)
        assert values.unique().tolist() == [-1, 0, 1]
        assert abs((values == 0).double().mean().item() - 0.5) < 0.02
        assert abs(values.mean().item()) < 0.02


@every_recipe
@pytest.mark.parametrize(("m", "n", "k"), [(5, 272, 400), (3, 144, 2304), (129, 16, 1040)])
def test_tagged_integers_are_exact_in_every_arithmetic(recipe: str, m: int, n: int, k: int) -> None:
    args = build("tagged-integers", m, n, k, recipe=recipe).tensors
    exact = exact_block_matmul(*args, recipe=recipe)
    gross = exact_block_matmul(*(x.to(torch.float32).abs().to(x.dtype) for x in args), recipe=recipe)

    emulated = [emulate_block_scaled_mm(*args, recipe=recipe, out_dtype=torch.float32, split_k=c) for c in (None, 1, 2)]

    assert gross.max() <= 2**24
    assert torch.equal(exact, exact.round())
    assert all(torch.equal(result.double(), exact) for result in emulated)


def test_tagged_integers_are_exact_in_the_reference_matmul() -> None:
    args = build("tagged-integers", 5, 272, 2304).tensors

    actual = native_w8a8_block_matmul(*args, (128, 128), torch.float32)

    assert torch.equal(actual.double(), exact_block_matmul(*args))


def test_tagged_integers_stay_finite_in_float16() -> None:
    shapes = {
        (case.problem.m, case.problem.n, case.problem.k)
        for case in plan("standard")
        if case.family.name == "tagged-integers" and case.problem.k >= 2304
    }

    largest = max(exact_block_matmul(*build("tagged-integers", *shape).tensors).abs().max() for shape in shapes)

    assert largest < 65504


def test_a_wrong_scale_changes_nearly_every_tagged_result() -> None:
    A, B, As, Bs = build("tagged-integers", 17, 272, 400).tensors
    right = exact_block_matmul(A, B, As, Bs)

    for wrong in ((As.roll(1, 0), Bs), (As.roll(1, 1), Bs), (As, Bs.roll(1, 0)), (As, Bs.roll(1, 1))):
        assert share_that_moves(exact_block_matmul(A, B, *wrong), right) > 0.9
