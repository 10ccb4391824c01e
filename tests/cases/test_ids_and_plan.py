"""Case ids, and what the plans of the profiles hold."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import get_args

import pytest
import torch

import cases
from cases import FAMILIES, OUT_DTYPES, Case, Problem, Profile, parse_case, plan
from cases.families import PLANNED, scale_limit
from cases.layers import PARALLEL, model, shards
from cases.plan import model_cases, section_of, sections
from cases.scenarios import SCENARIOS
from cases.sections import ORDINARY, SECTIONS
from cases.shapes import K_SIZES, M_SIZES, N_SIZES, UPSTREAM, grid

GROWING: tuple[Profile, ...] = ("quick", "standard", "full")
RECIPES = ("1x128-128x128", "128x128-1x128", "1x128-1x128")
every_profile = pytest.mark.parametrize("profile", get_args(Profile))


def shapes(profile: Profile) -> set[tuple[int, int, int]]:
    return {(case.problem.m, case.problem.n, case.problem.k) for case in plan(profile)}


# Ids.


def test_an_id_spells_everything_out() -> None:
    case = Case(Problem(83, 576, 7168, "fp16", "1x128-1x128"), FAMILIES["uniform-codes"], 4)

    assert case.id == "gemm/1x128-1x128/m83-n576-k7168/fp16/uniform-codes/s4"
    assert parse_case(case.id) == case


@pytest.mark.parametrize(("a", "b"), [("e5m2", "e4m3fn"), ("e4m3fn", "e5m2"), ("e4m3fnuz", "e4m3fnuz")])
def test_an_id_names_operand_formats_other_than_the_usual(a: str, b: str) -> None:
    case = Case(Problem(3, 16, 128, a=a, b=b), FAMILIES["uniform-codes"])

    assert case.id == f"gemm/1x128-128x128@{a}-{b}/m3-n16-k128/bf16/uniform-codes/s0"
    assert parse_case(case.id) == case


@every_profile
def test_every_planned_id_parses_to_its_case(profile: Profile) -> None:
    for case in plan(profile):
        assert parse_case(case.id) == case


@pytest.mark.parametrize("recipe", [*RECIPES, "tensorwise", "rowwise"])
def test_ids_of_every_recipe_parse(recipe: str) -> None:
    text = f"gemm/{recipe}/m3-n16-k128/fp32/tagged-integers/s0"

    actual = parse_case(text)

    assert (actual.id, actual.problem.recipe) == (text, recipe)


VALID = "gemm/1x128-128x128/m83-n576-k7168/bf16/tagged-integers/s0"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "gemm",
        VALID + "/",
        VALID + "0x",
        " " + VALID,
        VALID + "\n",
        VALID.replace("m83", "m-83"),
        VALID.replace("gemm", "mul"),
        VALID.removesuffix("/s0"),
        VALID.replace("/s0", "/0"),
        VALID.replace("k7168", "k7e3"),
        VALID.replace("-n576", ""),
    ],
)
def test_what_is_no_id_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is no case id; they look like gemm/") as refusal:
        parse_case(text)

    assert str(refusal.value).startswith(repr(text))
    assert VALID in str(refusal.value)


def test_the_valid_id_of_these_tests_is_valid() -> None:
    actual = parse_case(VALID)

    assert actual == Case(Problem(83, 576, 7168), FAMILIES["tagged-integers"])


@pytest.mark.parametrize(
    ("part", "other", "message"),
    [
        ("tagged-integers", "tagged", "unknown value family; choose one of tagged-integers, integer-codes, subnormal-"),
        ("bf16", "bfloat16", "unknown output dtype; choose one of bf16, fp16, fp32"),
        ("bf16", "fp8", "unknown output dtype; choose one of bf16, fp16, fp32"),
        ("k7168", "k2097152", "cannot be built: its partial sums reach .* above 2\\^24"),
    ],
)
def test_an_id_with_a_wrong_part_is_refused_with_the_choices(part: str, other: str, message: str) -> None:
    text = VALID.replace(part, other)

    with pytest.raises(ValueError, match=message) as refusal:
        parse_case(text)

    assert str(refusal.value).startswith(repr(text))


@pytest.mark.parametrize("operation", ["groupwise", "1x128-128x128@e4m3fn-int8", "1x128-128x128@bf16-e4m3fn"])
def test_an_unknown_recipe_or_format_is_refused_with_the_choices(operation: str) -> None:
    recipes = ", ".join([*RECIPES, "tensorwise", "rowwise"])
    choices = f"choose one of ({recipes}|e4m3fn, e5m2, e4m3fnuz, e5m2fnuz)"

    with pytest.raises(ValueError, match=choices):
        parse_case(VALID.replace("1x128-128x128", operation))


@pytest.mark.parametrize("part", ["n576", "k7168"])
def test_an_empty_weight_is_refused(part: str) -> None:
    with pytest.raises(ValueError, match="N and K start at 1"):
        parse_case(VALID.replace(part, part[0] + "0"))


@pytest.mark.parametrize(
    ("part", "other"),
    [("m83", "m083"), ("/s0", "/s00"), ("m83", "m8\u0663"), ("1x128-128x128", "1x128-128x128@e4m3fn-e4m3fn")],
)
def test_another_spelling_of_an_id_is_refused(part: str, other: str) -> None:
    with pytest.raises(ValueError, match="gemm/"):
        parse_case(VALID.replace(part, other))


def test_cases_that_differ_in_output_alone_share_inputs_and_others_do_not() -> None:
    problem = Problem(3, 16, 128)
    family = FAMILIES["uniform-codes"]
    same = {Case(Problem(3, 16, 128, out), family).inputs for out in OUT_DTYPES}
    others = {
        Case(problem, family).inputs,
        Case(problem, family, 1).inputs,
        Case(problem, FAMILIES["tagged-integers"]).inputs,
        Case(Problem(4, 16, 128), family).inputs,
        Case(Problem(3, 32, 128), family).inputs,
        Case(Problem(3, 16, 256), family).inputs,
        Case(Problem(3, 16, 128, recipe="1x128-1x128"), family).inputs,
        Case(Problem(3, 16, 128, a="e5m2"), family).inputs,
        Case(Problem(3, 16, 128, b="e5m2"), family).inputs,
    }

    assert len(same) == 1
    assert len(others) == 9
    assert same < others


# Problems.


def test_a_problem_knows_its_dtypes_and_blocks() -> None:
    problem = Problem(3, 130, 257, "fp16", a="e5m2", b="e4m3fnuz")

    assert (problem.a_dtype, problem.b_dtype) == (torch.float8_e5m2, torch.float8_e4m3fnuz)
    assert problem.out_dtype == torch.float16
    assert (problem.n_blocks, problem.k_blocks) == (2, 3)
    assert problem.macs == 3 * 130 * 257


@pytest.mark.parametrize(
    ("out", "expected"), [("bf16", torch.bfloat16), ("fp16", torch.float16), ("fp32", torch.float)]
)
def test_output_dtypes(out: str, expected: torch.dtype) -> None:
    actual = Problem(1, 1, 1, out).out_dtype

    assert actual == expected


@pytest.mark.parametrize(("k", "expected"), [(128, 30), (2560, 30), (2561, 15), (7168, 15)])
def test_tags_are_smaller_where_many_of_them_add_up(k: int, expected: int) -> None:
    actual = scale_limit(Problem(3, 16, k))

    assert actual == expected


@pytest.mark.parametrize("k", [128, 2560, 2561, 7168, 74496, 74624])
def test_tagged_integers_are_refused_exactly_where_sums_may_leave_float32(k: int) -> None:
    problem = Problem(3, 16, k)

    actual = FAMILIES["tagged-integers"].why_not(problem)

    kb = -(-k // 128)
    assert (actual is None) == (128 * scale_limit(problem) ** 2 * kb <= 2**24)


def test_the_other_families_fill_every_problem() -> None:
    problem = Problem(1, 16, 1 << 20)

    assert FAMILIES["uniform-codes"].why_not(problem) is None
    assert FAMILIES["quantised-normal"].why_not(problem) is None


# Plans.


@every_profile
def test_ids_are_unique(profile: Profile) -> None:
    ids = [case.id for case in plan(profile)]

    assert len(set(ids)) == len(ids)


@every_profile
def test_a_plan_is_the_same_every_time(profile: Profile) -> None:
    assert plan(profile) == plan(profile)


@every_profile
def test_every_planned_case_can_be_filled(profile: Profile) -> None:
    assert all(case.why_not() is None for case in plan(profile))


@every_profile
def test_cases_that_share_inputs_stand_together(profile: Profile) -> None:
    groups = [inputs for inputs, _ in groupby(plan(profile), key=lambda case: case.inputs)]

    assert len(set(groups)) == len(groups)


def test_profiles_grow() -> None:
    sizes = [len(plan(profile)) for profile in GROWING]
    work = [sum(case.problem.macs for case in plan(profile)) for profile in GROWING]

    assert sizes == sorted(set(sizes))
    assert work == sorted(set(work))


def test_each_profile_holds_the_smaller_ones() -> None:
    quick, standard, full = ({case.id for case in plan(profile)} for profile in GROWING)

    assert quick <= standard <= full


def test_full_holds_every_layer_of_every_parallelism() -> None:
    actual = {shape[1:] for shape in shapes("full")}

    assert {(s.n, s.k) for tp in PARALLEL for s in shards(model("DeepSeek-V3"), tp)} <= actual


def test_standard_has_three_thousand_cases() -> None:
    assert len(plan("standard")) >= 3000


@pytest.mark.parametrize(
    ("axis", "section", "values"),
    [
        (0, "edges-m", {*range(131), 255, 256, 257, 4095, 4096, 4097, 65535, 65536, 65537}),
        (1, "edges-n", {*range(16, 273, 16), 560, 576, 592, 7152, 7168, 7184, 8320}),
        (2, "edges-k", {*range(16, 273, 16), *(128 * b for b in range(1, 21)), 128 * 129}),
    ],
)
def test_standard_tries_every_value_of_an_axis(axis: int, section: str, values: set[int]) -> None:
    cases_of = [case for case in plan("standard") if case.family.tier == "exact"]
    actual = {(case.problem.m, case.problem.n, case.problem.k)[axis] for case in cases_of}

    assert SECTIONS[section].what
    assert values <= actual


@pytest.mark.parametrize("modulus", [4, 8])
def test_standard_tries_every_residue_of_large_k(modulus: int) -> None:
    actual = {case.problem.k_blocks % modulus for case in plan("standard") if case.problem.k_blocks > 48}

    assert actual == set(range(modulus))


def test_standard_edits_every_scale_of_a_shape() -> None:
    actual = {
        case.seed
        for case in plan("standard")
        if case.family.name == "one-scale" and case.problem.shape == "m5-n144-k400"
    }

    assert actual == set(range(5 * 4 + 2 * 4))


def test_standard_sweeps_code_pairs_over_every_lane() -> None:
    actual = {case.seed for case in plan("standard") if case.family.name == "code-pairs" and case.problem.k == 128}

    assert actual == set(range(128))


def test_every_family_and_scenario_is_planned() -> None:
    planned = plan("standard")

    assert {case.family.name for case in planned} == set(FAMILIES)
    assert {case.scenario.prefix for case in planned} == set(SCENARIOS)


def test_sections_cover_the_plan_without_repeats() -> None:
    found = [case.id for group in sections("standard").values() for case in group]

    assert sorted(found) == sorted(case.id for case in plan("standard"))
    assert all(section_of(case) for case in plan("standard"))


def test_a_case_outside_the_plans_has_no_section() -> None:
    case = Case(Problem(6, 48, 176), FAMILIES["uniform-codes"], 12345)

    assert section_of(case) == ""


def test_a_model_is_judged_on_its_own_layers() -> None:
    actual = model_cases(model("DeepSeek-V3"), 8, "quick")

    assert {(c.problem.n, c.problem.k) for c in actual} == {(s.n, s.k) for s in shards(model("DeepSeek-V3"), 8)}
    assert (7168, 2304) in {(c.problem.n, c.problem.k) for c in actual}


def test_every_grid_shape_is_in_standard() -> None:
    assert set(grid()) <= shapes("standard")


def test_standard_tries_the_shape_of_upstream_in_every_output_and_family() -> None:
    actual = {
        (case.problem.out, case.family.name)
        for case in plan("standard")
        if (case.problem.m, case.problem.n, case.problem.k) == UPSTREAM
    }

    assert actual == {(out, family) for out in OUT_DTYPES for family in ORDINARY}


def test_quick_tries_the_shape_of_upstream_exactly() -> None:
    actual = {
        case.family.name for case in plan("quick") if (case.problem.m, case.problem.n, case.problem.k) == UPSTREAM
    }

    assert actual == {"tagged-integers", "integer-codes"}


PAIRS: list[tuple[tuple[int, ...], tuple[int, ...], Callable[[tuple[int, int, int]], tuple[int, int]]]] = [
    (M_SIZES, N_SIZES, lambda shape: (shape[0], shape[1])),
    (M_SIZES, K_SIZES, lambda shape: (shape[0], shape[2])),
    (N_SIZES, K_SIZES, lambda shape: (shape[1], shape[2])),
]


@pytest.mark.parametrize(("first", "second", "pick"), PAIRS, ids=["MxN", "MxK", "NxK"])
def test_standard_holds_every_pair_of_sizes_in_every_family(
    first: tuple[int, ...], second: tuple[int, ...], pick: Callable[[tuple[int, int, int]], tuple[int, int]]
) -> None:
    for family in PLANNED:
        actual = {
            pick((case.problem.m, case.problem.n, case.problem.k))
            for case in plan("standard")
            if case.family.name == family
        }

        assert {(x, y) for x in first for y in second} <= actual


@pytest.mark.parametrize("profile", ["quick", "standard", "full", "survey"])
@pytest.mark.parametrize("out", list(OUT_DTYPES))
def test_every_output_dtype_has_its_share(profile: Profile, out: str) -> None:
    outs = [case.problem.out for case in plan(profile)]

    assert outs.count(out) * 6 >= len(outs)


@pytest.mark.parametrize("profile", ["quick", "standard"])
def test_ordinary_families_meet_every_output_dtype(profile: Profile) -> None:
    actual = {(case.family.name, case.problem.out) for case in plan(profile)}

    assert {(family, out) for family in ORDINARY for out in OUT_DTYPES} <= actual


def test_the_survey_meets_every_recipe_output_and_side_of_e5m2() -> None:
    problems = [case.problem for case in plan("survey")]

    assert {(p.recipe, p.out) for p in problems} == {(recipe, out) for recipe in RECIPES for out in OUT_DTYPES}
    assert {(p.a, p.b) for p in problems} == {("e4m3fn", "e4m3fn"), ("e5m2", "e4m3fn"), ("e4m3fn", "e5m2")}
    assert all(p.n <= 128 for p in problems if "e5m2" in (p.a, p.b))


def test_the_survey_spreads_over_all_sizes() -> None:
    for sizes, largest in zip(zip(*shapes("survey"), strict=True), (4096, 7168, 18432), strict=True):
        ordered = sorted(sizes)

        assert ordered[0] <= 16
        assert ordered[-1] == largest
        assert ordered[len(ordered) // 2] < largest / 4


def test_sizes_hold_the_boundaries_of_blocks_and_of_alignment() -> None:
    assert {127, 129} <= set(M_SIZES)
    assert {1, 83} <= set(M_SIZES)
    assert any(n % 128 and n > 128 for n in N_SIZES)
    assert any(k % 128 and k > 128 for k in K_SIZES)


def test_importing_cases_needs_no_torch() -> None:
    root = Path(cases.__file__).parents[1]
    code = "import sys, cases; cases.plan('full'); sys.exit('torch' in sys.modules)"

    actual = subprocess.run([sys.executable, "-c", code], cwd=root, check=False)

    assert actual.returncode == 0
