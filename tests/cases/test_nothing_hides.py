"""One element zeroed, one sign flipped, one product lost: where the bound cannot see it, an exact case does."""

from __future__ import annotations

from collections import defaultdict

import pytest
import torch
from torch import Tensor

from cases import Case, plan
from cases.operands import build_operands
from cases.sections import SECTIONS
from reference import exact_block_matmul, expect, round_to
from reference.blocks import BLOCK
from reference.formats import decode

Sizes = tuple[int, int, int]


def by_shape() -> dict[Sizes, list[Case]]:
    """Plain cases of `quick` on the shapes of its grid, few enough products to try every one of them."""
    grid = {(c.problem.m, c.problem.n, c.problem.k) for _, c in SECTIONS["grid"].cases()}
    found: dict[Sizes, list[Case]] = defaultdict(list)
    for case in plan("quick"):
        p = case.problem
        if case.id.startswith("gemm/1x128-128x128/") and (p.m, p.n, p.k) in grid and p.macs <= 1 << 20:
            found[p.m, p.n, p.k].append(case)
    return found


CASES = by_shape()
shapes = pytest.mark.parametrize("shape", CASES, ids=str)


def products(case: Case) -> tuple[Tensor, Tensor]:
    """The exact result [M, N], and every scaled product [M, N, K] that it is the sum of, float64."""
    operands = build_operands(case)
    a, b, sa, sb = operands.tensors
    m, n, k = case.problem.m, case.problem.n, case.problem.k
    lane, column = torch.arange(k) // BLOCK, torch.arange(n) // BLOCK
    left, right = decode(a).double() * sa[:, lane].double(), decode(b).double() * sb[column][:, lane].double()
    assert (m, k) == left.shape
    return exact_block_matmul(*operands.tensors), left[:, None, :] * right[None, :, :]


def exact_cases(shape: Sizes) -> list[Case]:
    return [case for case in CASES[shape] if case.tier == "exact" and not case.family.is_special]


def test_the_grid_of_quick_has_many_shapes_in_both_tiers() -> None:
    assert len(CASES) > 12
    assert all({"exact", "bound"} <= {case.tier for case in cases} for cases in CASES.values())


@shapes
def test_every_lost_product_and_every_flipped_sign_shows(shape: Sizes) -> None:
    unseen = {"lost": torch.ones(shape, dtype=torch.bool), "flipped": torch.ones(shape, dtype=torch.bool)}
    for case in exact_cases(shape):
        exact, terms = products(case)
        right = round_to(exact, case.problem.out_dtype)[:, :, None]
        for name, factor in (("lost", 1), ("flipped", 2)):
            unseen[name] &= round_to(exact[:, :, None] - factor * terms, case.problem.out_dtype) == right

    assert {name: int(left.sum()) for name, left in unseen.items()} == {"lost": 0, "flipped": 0}


@shapes
def test_every_zeroed_element_shows(shape: Sizes) -> None:
    hidden = [round_to(products(case)[0], case.problem.out_dtype) == 0 for case in exact_cases(shape)]

    assert not bool(torch.stack(hidden).all(0).any())


def test_the_bound_alone_misses_most_lost_products() -> None:
    """Or there were no need for the rest of this file."""
    case = next(c for c in CASES[1, 16, 128] if c.family.name == "uniform-codes")
    exact, terms = products(case)
    expected = expect(*build_operands(case).tensors, arithmetic=None)
    low, high = expected.interval(case.problem.out_dtype)
    lost = round_to(exact[:, :, None] - terms, case.problem.out_dtype).double()

    missed = (lost >= low[:, :, None]) & (lost <= high[:, :, None])
    assert missed.double().mean() > 0.1
