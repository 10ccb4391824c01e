"""Related operands: what they are worth mathematically, and that they are made the same everywhere."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from cases import FAMILIES, Case, Problem
from cases.operands import Operands, build_operands, digest_of
from cases.problem import BLOCK_RECIPES, OPERAND_FORMATS, RECIPES, WHOLE_RECIPES
from cases.relations import RELATIONS, Related
from cases.relations.orders import inside_blocks, inverse, whole_blocks
from cases.relations.rescale import NO_ROOM
from cases.scenarios import SCENARIOS
from cases.stream import Stream
from reference import exact_block_matmul
from reference.formats import decode

CPU = torch.device("cpu")
STREAM = Stream("test", CPU)
SHAPE = (5, 272, 400)
INTEGERS = FAMILIES["tagged-integers"]


def related_to(name: str, problem: Problem, family: str = "tagged-integers") -> tuple[Operands, Related]:
    operands = build_operands(Case(problem, FAMILIES[family]))
    related = RELATIONS[name].transform(operands, problem, STREAM.child(name))
    assert isinstance(related, Related)
    return operands, related


def relations(*shapes: tuple[int, int, int]) -> list[Any]:
    """Every relation in every recipe that has it: without K blocks some mean nothing."""
    problems = [Problem(*shape, recipe=recipe) for recipe in RECIPES for shape in shapes]
    possible = []
    for name in RELATIONS:
        reasons = {problem: SCENARIOS[f"relation/{name}"].why_not(problem) for problem in problems}
        assert all(problem.recipe in WHOLE_RECIPES for problem, reason in reasons.items() if reason), reasons
        fitting = (problem for problem, reason in reasons.items() if not reason)
        possible += [pytest.param(name, p, id=f"{name}-{p.recipe}-{p.shape}") for p in fitting]
    return possible


def test_every_relation_of_the_scenarios_has_a_transformation_and_the_other_way_round() -> None:
    assert list(RELATIONS) == [s.name for s in SCENARIOS.values() if s.kind == "relation"]


@pytest.mark.parametrize(("name", "problem"), relations(SHAPE, (130, 256, 272)))
def test_the_exact_results_are_related(name: str, problem: Problem) -> None:
    operands, related = related_to(name, problem)

    first = exact_block_matmul(*(related.first or operands.tensors), recipe=problem.recipe)
    results = [exact_block_matmul(*part, recipe=problem.recipe) for part in related.parts]

    assert torch.equal(related.mapped(sum(results, torch.zeros(()))), first)


@pytest.mark.parametrize(("name", "problem"), relations(SHAPE))
def test_related_operands_are_others_of_the_same_kind_and_contiguous(name: str, problem: Problem) -> None:
    operands, related = related_to(name, problem)

    for part in related.parts:
        assert [x.dtype for x in part] == [x.dtype for x in operands.tensors]
        assert all(x.is_contiguous() for x in part)
        assert digest_of(*part) != operands.digest
    assert operands.digest == digest_of(*operands.tensors)


@pytest.mark.parametrize("name", RELATIONS)
def test_the_same_stream_makes_the_same_operands(name: str) -> None:
    digests = [[digest_of(*part) for part in related_to(name, Problem(*SHAPE))[1].parts] for _ in range(2)]

    assert digests[0] == digests[1]


@pytest.mark.parametrize("codes", OPERAND_FORMATS)
@pytest.mark.parametrize("name", ["negate-a", "negate-lanes"])
def test_signs_are_turned_in_every_format_and_no_zero_becomes_nan(name: str, codes: str) -> None:
    operands, related = related_to(name, Problem(*SHAPE, a=codes, b=codes), "uniform-codes")
    (a, b, _, _) = related.parts[0]

    for before, after in ((operands.A, a), (operands.B, b)):
        assert torch.equal(decode(before).abs(), decode(after).abs())
    turned = decode(operands.A) != decode(a)
    assert 0.4 < turned.float().mean() <= 1
    assert torch.equal((decode(operands.B) != decode(b)).any(0), turned.any(0) & torch.tensor(name == "negate-lanes"))


@pytest.mark.parametrize(("count", "width"), [(1, 32), (2, 2), (5, 5), (5, 128), (144, 128), (400, 32), (7, 3)])
def test_an_order_inside_blocks_keeps_blocks_and_moves_something_if_it_can(count: int, width: int) -> None:
    place = torch.arange(count)
    for i in range(20):
        index = inside_blocks(STREAM.child(str(i)), count, width)

        assert torch.equal(index.sort().values, place)
        assert torch.equal(index // width, place // width)
        assert torch.equal(index, place) == (count == 1)
        assert torch.equal(index[inverse(index)], place)


@pytest.mark.parametrize("count", [256, 300, 640])
def test_an_order_of_whole_blocks_keeps_lanes_and_the_ragged_end(count: int) -> None:
    place = torch.arange(count)
    for i in range(20):
        index = whole_blocks(STREAM.child(str(i)), count, 128)

        assert torch.equal(index.sort().values, place)
        assert torch.equal(index % 128, place % 128)
        assert torch.equal(index[count // 128 * 128 :], place[count // 128 * 128 :])
        assert not torch.equal(index, place)


@pytest.mark.parametrize(
    ("dtype", "gain", "first", "comparable"),
    [
        (torch.float16, 0.5, (1.0, 2.0**-13, 2.0**-12, 0.0, 60000.0, torch.inf, torch.nan), (1, 0, 1, 0, 1, 0, 0)),
        (torch.float16, 2.0, (1.0, 2.0**-14, 2.0**-13, 0.0, 60000.0, 32000.0, torch.inf), (1, 0, 1, 0, 0, 1, 0)),
        (torch.float32, 0.5, (1.0, 1e-20, 1e-38, 0.0, 1e20, torch.inf, torch.nan), (1, 1, 0, 0, 1, 0, 0)),
        (torch.float32, 2.0, (1.0, 1e-20, 1e-38, 0.0, 1e20, 1e24, 1e30), (1, 1, 0, 0, 1, 0, 0)),
    ],
    ids=str,
)
def test_scaled_results_are_comparable_where_both_are_normal(
    dtype: torch.dtype, gain: float, first: tuple[float, ...], comparable: tuple[int, ...]
) -> None:
    related = Related((), gain=torch.full((1, 1), gain, dtype=torch.float64))

    mask = related.comparable(torch.tensor([first], dtype=dtype))

    assert mask.int().tolist() == [list(comparable)]


@pytest.mark.parametrize("out", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("name", ["scale-row", "scale-n-block"])
def test_every_row_or_block_has_its_own_power_of_two_and_float16_never_grows(name: str, out: str) -> None:
    _, related = related_to(name, Problem(300, 520, 128, out=out), "uniform-codes")

    assert related.gain is not None
    exponents = torch.log2(related.gain).flatten()
    assert torch.equal(exponents, exponents.round())
    assert bool((exponents != 0).all())
    assert len(exponents.unique()) > 1
    assert bool((exponents < 0).all()) or out != "fp16"


@pytest.mark.parametrize("name", ["move-power-of-two", "scale-row", "scale-n-block"])
@pytest.mark.parametrize("scale", [1e-40, 1e30])
@pytest.mark.parametrize("side", ["As", "Bs"])
def test_scales_without_room_are_left_alone_with_a_reason(name: str, scale: float, side: str) -> None:
    problem = Problem(*SHAPE)
    operands = build_operands(Case(problem, INTEGERS))
    getattr(operands, side)[:] = scale

    related = RELATIONS[name].transform(operands, problem, STREAM)

    assert related == NO_ROOM


@pytest.mark.parametrize("name", ["move-power-of-two", "scale-row"])
def test_scales_without_room_stay_while_others_move(name: str) -> None:
    problem = Problem(*SHAPE)
    operands = build_operands(Case(problem, INTEGERS))
    cell = (slice(None), 1) if name == "move-power-of-two" else (1, slice(None))
    operands.As[cell] = 1e30

    related = RELATIONS[name].transform(operands, problem, STREAM)

    assert isinstance(related, Related)
    moved = related.parts[0][2] != operands.As
    assert not moved[cell].any()
    assert moved.float().mean() > 0.7


@pytest.mark.parametrize("opposite", [1.0, 3e38])
@pytest.mark.parametrize("recipe", BLOCK_RECIPES)
def test_the_scales_of_a_block_of_zeros_stay_finite_with_those_on_the_other_side(recipe: str, opposite: float) -> None:
    problem = Problem(*SHAPE, recipe=recipe)
    operands = build_operands(Case(problem, INTEGERS))
    operands.As[:], operands.Bs[:] = opposite, opposite

    related = RELATIONS["zero-block"].transform(operands, problem, STREAM)

    assert isinstance(related, Related)
    assert related.first is not None
    for _, _, sa, sb in (related.first, *related.parts):
        assert int((sa != opposite).sum()) == int((sb != opposite).sum()) == 1
        for mine, other in ((sa, sb), (sb, sa)):
            row, block = (mine != opposite).nonzero()[0].tolist()
            assert bool(torch.isfinite(mine[row, block] * other[:, block]).all())


def test_a_problem_too_small_for_a_relation_says_why() -> None:
    small = Problem(1, 144, 128)

    reasons = {name: SCENARIOS[f"relation/{name}"].why_not(small) for name in RELATIONS}

    assert {name: why for name, why in reasons.items() if why} == {
        "permute-rows": "it needs M to be 2 at least, and it is 1",
        "permute-n-blocks": "it needs N to be 256 at least, and it is 144",
        "permute-k-blocks": "it needs K to be 256 at least, and it is 128",
        "split-k-in-two": "it needs K to be 129 at least, and it is 128",
    }
    assert all(SCENARIOS[f"relation/{name}"].why_not(Problem(0, 256, 256)) for name in RELATIONS)
