"""Where wrong elements lie: shapes, phrases, maps, and the K block whose product the error is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import kernels
import pytest
import torch
from torch import Tensor

from cases import parse_case
from cases.operands import build_operands
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.diagnosis import finding
from conformance.diagnosis.guilt import guilty_block
from conformance.diagnosis.reading import honest
from conformance.execute import run_case
from conformance.location import draw, locate
from conformance.presentation import present
from conformance.probe import parse_device, probe
from reference import emulate_block_scaled_mm, exact_block_matmul
from reference.blocks import DEFAULT_RECIPE


def mask(m: int, n: int, *parts: tuple[slice, slice]) -> Tensor:
    wrong = torch.zeros(m, n, dtype=torch.bool)
    for part in parts:
        wrong[part] = True
    return wrong


EVERY = slice(None)
SHAPES: dict[str, tuple[Tensor, str, str]] = {
    "everything": (mask(5, 7, (EVERY, EVERY)), "everything", "every element"),
    "element": (mask(5, 7, (slice(2, 3), slice(4, 5))), "element", "row 2 and column 4"),
    "row": (mask(5, 7, (slice(4, 5), EVERY)), "row", "row 4 and all columns"),
    "rows": (mask(5, 7, (slice(1, 3), EVERY)), "rows", "rows 1 to 2 and all columns"),
    "column": (mask(5, 7, (EVERY, slice(0, 1))), "column", "all rows and column 0"),
    "columns": (mask(5, 300, (EVERY, slice(128, 256))), "columns", "all rows and columns 128 to 255"),
    "tile": (mask(90, 300, (slice(64, 80), slice(128, 256))), "tile", "rows 64 to 79 and columns 128 to 255"),
    "tiles": (
        mask(90, 300, (slice(0, 2), slice(0, 2)), (slice(0, 2), slice(4, 6))),
        "tiles",
        "rows 0 to 1 and 4 columns from 0 to 5",
    ),
    "scattered": (torch.eye(9, dtype=torch.bool), "scattered", "all rows and all columns, 11% of the elements there"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_shape_of_an_error_is_named(name: str) -> None:
    wrong, shape, where = SHAPES[name]

    located = locate(wrong)

    assert (located.shape, located.where) == (shape, where)


def test_a_map_counts_its_cells_and_writes_equal_rows_once() -> None:
    wrong = mask(83, 576, (EVERY, slice(128, 256)))
    wrong[0, 0] = True  # some of a cell
    wrong[80:83, 320:336] = True  # half of a ragged cell

    actual = draw(wrong)

    assert actual == {
        "size": [83, 576],
        "cell": [8, 32],
        "rows": ["-...####..........", "....####..........*9", "....####..+......."],
    }


@pytest.mark.parametrize("size", [(1, 1), (16, 32), (17, 33), (70000, 3)])
def test_a_map_fits_whatever_the_size(size: tuple[int, int]) -> None:
    actual: Any = draw(torch.ones(size, dtype=torch.bool))

    assert len(actual["rows"]) == 1
    line, _, count = actual["rows"][0].partition("*")
    assert set(line) == {"#"}
    assert len(line) <= 32
    assert int(count or 1) <= 16
    assert int(count or 1) * actual["cell"][0] >= size[0] > (int(count or 1) - 1) * actual["cell"][0]


CASE = parse_case("gemm/1x128-128x128/m20-n144-k600/fp32/uniform-codes/s0")
OPERANDS = build_operands(CASE)
RIGHT = exact_block_matmul(*OPERANDS.tensors, recipe=CASE.problem.recipe)
BLOCKS: dict[str, tuple[Callable[[Tensor], Tensor], float]] = {
    "lost": (torch.zeros_like, -1.0),
    "counted again": (lambda scale: 2 * scale, 1.0),
    "scaled otherwise": (lambda scale: 0.75 * scale, -0.25),
}


@pytest.mark.parametrize("what", BLOCKS)
def test_the_k_block_whose_product_the_error_is_is_found(what: str) -> None:
    change, factor = BLOCKS[what]
    A, B, As, Bs = OPERANDS.tensors
    other = As.clone()
    other[:, 4] = change(As[:, 4])
    out = exact_block_matmul(A, B, other, Bs, recipe=CASE.problem.recipe).float()

    guilty = guilty_block(
        honest(present(OPERANDS), CASE.problem),
        out,
        out.double() != RIGHT,
    )

    assert guilty is not None
    assert guilty[0] == 4
    assert guilty[1] == pytest.approx(factor, rel=1e-4)


def test_an_error_of_two_k_blocks_is_no_single_ones() -> None:
    A, B, As, Bs = OPERANDS.tensors
    other = As.clone()
    other[:, 1:3] = 0
    out = exact_block_matmul(A, B, other, Bs, recipe=CASE.problem.recipe).float()

    assert (
        guilty_block(
            honest(present(OPERANDS), CASE.problem),
            out,
            out.double() != RIGHT,
        )
        is None
    )


def record(backend: object, k: int = 256) -> dict[str, Any]:
    device = parse_device("cpu")
    case = parse_case(f"gemm/1x128-128x128/m5-n256-k{k}/bf16/uniform-codes/s0")
    return run_case(
        Assignment.of(case, Backend(backend, spec="next-scale"), probe(device)), seed=0, device=device
    ).to_json()


def test_a_record_of_a_wrong_result_says_where_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "_spent", 0.0)

    line = record(kernels.NextScale())

    assert line["verdict"] == "failed"
    assert line["picture"]["size"] == [5, 256]
    assert line["where"] == "every element" or " and " in line["where"]
    assert line["fault"]
    assert line["finding"].startswith(("all", "every", "1")) or " of " in line["finding"]
    for wrong in line["first_wrong"]:
        bits = torch.tensor(float.fromhex(wrong["actual"]), dtype=torch.bfloat16).view(torch.int16)
        assert int(wrong["actual_bits"], 16) == int(bits) & 0xFFFF
        assert wrong["expected_bits"] != wrong["actual_bits"]


class LosesSecondBlock:
    name = "loses-second-block"

    def apply_block_scaled_mm(
        self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype, recipe: str = DEFAULT_RECIPE
    ) -> Tensor:
        scales = As.clone()
        scales[:, 1] = 0
        return emulate_block_scaled_mm(A, B, scales, Bs, recipe=recipe, out_dtype=out_dtype)


def test_a_record_names_the_k_block_that_is_lost_and_so_does_its_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "_spent", 0.0)

    line = record(LosesSecondBlock(), k=640)

    assert line["shape"] == "k-block"
    assert line["where"].endswith(", off by -1 times the product of K block 1")
    assert line["finding"].endswith(f"wrong: {line['where']}")


def test_naming_stops_when_its_time_is_spent_and_costs_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "_spent", finding.SECONDS + 1)

    line = record(kernels.NextScale())

    assert (line["verdict"], "finding" in line, "picture" in line) == ("failed", False, True)


def test_a_naming_that_fails_costs_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no such thing")

    monkeypatch.setattr(finding, "_spent", 0.0)
    monkeypatch.setattr(finding, "diagnose", fails)

    line = record(kernels.NextScale())

    assert line["verdict"] == "failed"
    assert line["finding"] == "the naming of the fault failed itself: RuntimeError: no such thing"
