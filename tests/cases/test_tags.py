"""The check on scale patterns: each wrong index that may give a pattern back is named, and no others."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from cases import FAMILIES, Case, Problem
from cases.fill import TAGGED, Values
from cases.fill.tags import alias_of
from cases.operands import build_operands
from cases.stream import Stream

CPU = torch.device("cpu")


def unrelated(rows: int, columns: int, *, limit: int = 30) -> Tensor:
    return Stream(f"unrelated {rows} {columns}", CPU).below(limit, rows, columns).float()


def alike_in_lines_of(leading: int, rows: int, columns: int) -> Tensor:
    """A pattern that reads the same with another leading dimension, and is random as far as that allows."""
    memory = unrelated(rows, columns).flatten().tolist()
    for line in range(1, rows):
        for place in range(min(columns, len(memory) - line * leading)):
            memory[line * leading + place] = memory[line * columns + place]
    return torch.tensor(memory).reshape(rows, columns)


SHAPES = [(129, 56), (83, 9), (5, 56), (2, 40), (1, 100), (300, 1), (40, 40)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("limit", [2, 6, 30])
def test_unrelated_scales_pass(shape: tuple[int, int], limit: int) -> None:
    actual = alias_of(unrelated(*shape, limit=limit))

    assert actual is None


@pytest.mark.parametrize("by", [1, 2, 3, 12, 48, 96, 256])
def test_a_shift_of_rows_is_named(by: int) -> None:
    scales = unrelated(by, 9).repeat(700 // by, 1)

    actual = alias_of(scales)

    assert actual == f"a shift by {by} rows"


@pytest.mark.parametrize("by", [1, 3, 18, 28])
def test_a_shift_of_k_blocks_is_named(by: int) -> None:
    scales = unrelated(129, by).repeat(1, 57 // by + 1)

    assert str(alias_of(scales)).startswith(("a shift by", "a leading")), "whichever reading is met first"
    assert alias_of(scales.t().contiguous()) == f"a shift by {by} rows"


@pytest.mark.parametrize("by", [40, 100, 255])
def test_a_shift_in_memory_is_named(by: int) -> None:
    memory = unrelated(1, by)[0].repeat(200)
    scales = memory[: 37 * 19].reshape(37, 19)

    assert alias_of(scales) == f"a shift by {by} in row-major memory"
    assert alias_of(scales.t().contiguous()) == f"a shift by {by} in column-major memory"


def test_a_period_of_three_is_refused() -> None:
    row, column = torch.arange(129)[:, None], torch.arange(56)

    actual = alias_of(((row + 2 * column) % 3).float())

    assert actual == "a shift by 3 rows"


def test_a_symmetric_matrix_is_refused() -> None:
    half = unrelated(40, 40)

    actual = alias_of(half + half.t())

    assert actual in ("row-major memory in the other order", "column-major memory in the other order", "transposition")


def test_a_matrix_with_a_symmetric_square_is_refused() -> None:
    scales = unrelated(9, 60)
    scales[:, :9] = scales[:, :9] + scales[:, :9].t()

    assert alias_of(scales) == "transposition"
    assert alias_of(unrelated(9, 60)) is None


def test_a_matrix_of_constant_rows_or_columns_is_refused() -> None:
    line = unrelated(129, 1)

    # In memory all but one place a row agree, too.
    assert alias_of(line.expand(129, 56)) == "a shift by 1 in row-major memory"
    assert alias_of(line.expand(129, 5)) == "a shift by 1 columns"
    assert alias_of(line.t().expand(56, 129)) == "a shift by 1 rows"


@pytest.mark.parametrize(("columns", "leading"), [(56, 57), (56, 58), (56, 59), (18, 20), (5, 8)])
def test_another_leading_dimension_is_named(columns: int, leading: int) -> None:
    scales = alike_in_lines_of(leading, 129, columns)

    assert alias_of(scales) == f"a leading dimension of {leading} for {columns} in row-major memory"
    assert alias_of(scales.t()) == f"a leading dimension of {leading} for {columns} in column-major memory"


def test_few_differences_do_not_excuse_a_pattern() -> None:
    scales = unrelated(3, 56).repeat(43, 1)
    scales[::40, ::20] += 1

    assert alias_of(scales) == "a shift by 3 rows"


def test_scales_too_few_to_tell_are_not_asked() -> None:
    assert alias_of(torch.ones(7, 9)) is None
    assert alias_of(torch.ones(8, 9))
    assert alias_of(torch.ones(0, 9)) is None


@pytest.mark.parametrize("family", TAGGED)
@pytest.mark.parametrize("recipe", ["1x128-128x128", "128x128-1x128", "1x128-1x128"])
def test_the_scales_of_tagged_families_pass_in_every_seed(family: str, recipe: str) -> None:
    for seed, shape in enumerate([(129, 272, 1040), (17, 528, 2000), (1, 16, 400), (0, 144, 272)] * 2):
        case = Case(Problem(*shape, recipe=recipe), FAMILIES[family], seed)

        tensors = build_operands(case).tensors if case.why_not() is None else ()

        assert all(alias_of(scale) is None for scale in tensors[2:])


def test_a_pattern_that_hides_a_wrong_index_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def periodic(case: Case, stream: Stream) -> Values:
        row, column = torch.arange(128)[:, None], torch.arange(2)
        ones = torch.ones(128, 256).to(torch.float8_e4m3fn)
        return ones, ones, ((row + 2 * column) % 3 + 1).float(), torch.ones(1, 2)

    monkeypatch.setitem(__import__("cases.fill", fromlist=["FILLS"]).FILLS, "tagged-integers", periodic)

    with pytest.raises(AssertionError, match="a shift by 3 rows gives the scales As back"):
        build_operands(Case(Problem(128, 128, 256), FAMILIES["tagged-integers"]))
