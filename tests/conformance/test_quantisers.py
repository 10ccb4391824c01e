"""Quantisers as subjects: right ones pass, every wrong one fails for a reason that fits, and each family is needed."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
import quantisers
import torch
from quantisers import ISOLATED, RIGHT, Made
from torch import Tensor

from cases import QuantCase, parse_case
from cases.quantising import FAMILIES, quantisations
from cases.quantising.fill import build_input
from conformance.errors import UsageError
from conformance.probe import probe
from conformance.quantising.built_in import ReferenceQuantiser
from conformance.quantising.catalogue import FAULTS
from conformance.quantising.judge import Pair, judge_values
from conformance.quantising.legal import Legal
from conformance.quantising.quantiser import Quantiser
from conformance.quantising.steps import Steps
from conformance.quantising.task import QuantTask
from conformance.verdict import CaseRecord
from reference.formats import FORMATS

CPU = torch.device("cpu")
PLATFORM = probe(CPU)
QUICK = quantisations("quick")
SMALL = [case for case in QUICK if case.rows * case.columns < 10_000]
TOKENS = "quantise/token-group128"


def judged(subject: Any, case: QuantCase | str) -> CaseRecord:
    """The record of a case on a subject."""
    case = parse_case(case) if isinstance(case, str) else case  # type: ignore[assignment]
    assert isinstance(case, QuantCase)
    return QuantTask.of(case, Quantiser(subject, spec="m:made"), PLATFORM).run(seed=0, device=CPU)


@cache
def filled(id_: str) -> tuple[QuantCase, Tensor]:
    """A case and its input."""
    case = parse_case(id_)
    assert isinstance(case, QuantCase)
    return case, build_input(case).x


def is_wrong(steps: Steps, id_: str) -> bool:
    """Whether the values of ``steps`` fail the case, without a subject around them."""
    case, x = filled(id_)
    one = case.granularity
    pair = steps.quantise(x, one.rows, one.columns, FORMATS[case.target].dtype, "ue8m0" in case.options)
    return judge_values(case, x, Pair(*pair), None)[0].verdict == "failed"


# What passes.


@pytest.mark.parametrize("name", RIGHT)
def test_every_right_quantiser_passes_every_small_case(name: str) -> None:
    wrong = [(r.id, r.detail) for r in (judged(Made(RIGHT[name]), case) for case in SMALL) if r.verdict != "passed"]

    assert wrong == []


def test_the_reference_is_right_in_every_bit_that_it_declares() -> None:
    records = [judged(ReferenceQuantiser(), case) for case in QUICK]

    assert {(record.verdict, record.measured.tier if record.measured else "") for record in records} == {
        ("passed", "bits")
    }


def test_which_variant_it_is_is_told() -> None:
    case = f"{TOKENS}/m83-k640/bf16-e4m3fn/normal/s0"
    told = {name: judged(Made(steps), case).measured for name, steps in RIGHT.items()}

    actual = {name: told[name].arithmetic for name in ("division", "reciprocal", "reciprocal-of-scale")}  # type: ignore[union-attr]
    assert actual == {
        "division": "division",
        "reciprocal": "reciprocal",
        "reciprocal-of-scale": "scales division, codes reciprocal",
    }
    assert told["fast-division"].arithmetic == "scales approximate, codes approximate"  # type: ignore[union-attr]


def test_a_declared_variant_is_held_to_every_bit() -> None:
    record = judged(quantisers.DeclaresReciprocal(RIGHT["division"]), f"{TOKENS}/m83-k640/bf16-e4m3fn/normal/s0")

    assert (record.verdict, record.reason) == ("failed", "unexplained-bits")
    assert judged(quantisers.DeclaresReciprocal(RIGHT["reciprocal"]), record.id).verdict == "passed"


# What does not.


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_the_catalogue_fails_a_small_case_of_quick(fault: str) -> None:
    small = [case.id for case in QUICK if case.rows == 5 and not {*case.options} - {"ue8m0"}]

    assert any(is_wrong(FAULTS[fault].build(), id_) for id_ in small)


@pytest.mark.parametrize("family", ISOLATED)
def test_a_family_sees_what_no_other_does(family: str) -> None:
    ids = {name: [f"{TOKENS}{option}/m5-k384/fp32-e4m3fn/{name}/s0" for option in ("", "@ue8m0")] for name in FAMILIES}

    actual = {name for name, texts in ids.items() if any(is_wrong(ISOLATED[family], text) for text in texts)}
    assert actual == {family}


@pytest.mark.parametrize(
    ("fault", "case", "reason"),
    [
        ("half-away", "token-group128/m83-k640/bf16-e4m3fn/ties", "wrong-codes"),
        ("half-towards-zero", "token-group128/m83-k640/bf16-e4m3fn/ties", "wrong-codes"),
        ("truncated-codes", "token-group128/m83-k640/bf16-e4m3fn/near-ties", "wrong-codes"),
        ("quotient-in-bf16", "token-group128/m83-k640/bf16-e4m3fn/normal", "wrong-codes"),
        ("x-in-bf16", "token-group128/m83-k640/fp32-e4m3fn/near-ties", "wrong-codes"),
        ("subnormals-flushed", "token-group128/m5-k384/bf16-e4m3fn/codes", "wrong-codes"),
        ("no-eps", "token-group128/m5-k384/bf16-e4m3fn/zeros", "wrong-scales"),
        ("eps-on-scale", "token-group128/m5-k384/bf16-e4m3fn/small", "wrong-scales"),
        ("signed-amax", "token-group128/m5-k384/bf16-e4m3fn/group-tags", "wrong-scales"),
        ("next-group", "token-group128/m5-k384/bf16-e4m3fn/group-tags", "wrong-scales"),
        ("x-in-fp16", "token-group128/m5-k384/bf16-e4m3fn/large", "wrong-scales"),
        ("power-below", "token-group128@ue8m0/m83-k640/bf16-e4m3fn/scale-edges", "wrong-scales"),
        ("power-nearest", "token-group128@ue8m0/m83-k640/bf16-e4m3fn/scale-edges", "wrong-scales"),
        ("power-beyond", "token-group128@ue8m0/m83-k640/bf16-e4m3fn/scale-edges", "wrong-scales"),
        ("codes-of-unrounded-scale", "token-group128@ue8m0/m83-k640/bf16-e4m3fn/normal", "wrong-codes"),
        ("limit-of-fnuz", "token-group128/m5-k384/bf16-e4m3fn/normal", "wrong-scales"),
        ("nan-swallowed", "token-group128/m5-k384/bf16-e4m3fn/one-special", "not-finite-lost"),
        ("nan-everywhere", "token-group128/m5-k384/bf16-e4m3fn/one-special", "wrong-scales"),
        ("padding-of-ones", "token-group128/m5-k400/bf16-e4m3fn/group-tags", "wrong-scales"),
        ("amax-of-row", "block128x128/n144-k400/bf16-e4m3fn/group-tags", "wrong-scales"),
    ],
)
def test_a_fault_is_caught_where_it_shows_and_named(fault: str, case: str, reason: str) -> None:
    record = judged(Made(FAULTS[fault].build()), f"quantise/{case}/s0")

    assert (record.verdict, record.reason) == ("failed", reason)
    assert record.fault == fault
    assert record.where
    assert record.measured is not None
    assert record.measured.first_wrong


@pytest.mark.parametrize(
    ("subject", "case", "reason"),
    [
        (quantisers.RowMajor, "@column-major/m5-k384", "wrong-strides"),
        (quantisers.RowMajor, "@tma-aligned/m5-k384", "wrong-strides"),
        (quantisers.Unpadded, "@tma-aligned/m5-k384", "wrong-strides"),
        (quantisers.Misread, "@column-major/m5-k384", "wrong-scales"),
        (quantisers.WritesInput, "/m5-k384", "memory-changed"),
        (quantisers.IgnoresStrides, "@x-rows-padded/m5-k384", "wrong-scales"),
        (quantisers.IgnoresStrides, "@x-column-major/m5-k384", "wrong-scales"),
        (quantisers.BatchFirst, "@x-3d/m6-k640", "wrong-scales"),
        (quantisers.OtherEachTime, "@twice/m5-k384", "results-differ"),
        (quantisers.OneBuffer, "@twice/m5-k384", "results-shared"),
        (quantisers.NoPair, "/m5-k384", "not-a-pair"),
        (quantisers.NotTensors, "/m5-k384", "not-a-tensor"),
        (quantisers.Sparse, "/m5-k384", "not-strided"),
        (quantisers.OnMeta, "/m5-k384", "wrong-device"),
        (quantisers.GivesInputBack, "/m5-k384", "memory-changed"),
        (quantisers.CodesAsFloats, "/m5-k384", "wrong-dtype"),
        (quantisers.ScaleOfRows, "/m5-k384", "wrong-shape"),
        (quantisers.Raises, "/m5-k384", "raised"),
    ],
)
def test_what_is_wrong_beside_the_values_fails(subject: type[Made], case: str, reason: str) -> None:
    id_ = f"{TOKENS}{case}/bf16-e4m3fn/group-tags/s0"

    assert judged(subject(RIGHT["division"]), id_).reason == reason
    assert judged(Made(RIGHT["division"]), id_).verdict == "passed"


# What may be refused.


def test_ragged_k_is_right_or_refused_and_whole_k_is_owed() -> None:
    subject = quantisers.WholeGroupsOnly(RIGHT["division"])
    ragged, whole = (judged(subject, f"{TOKENS}/m5-k{k}/bf16-e4m3fn/codes/s0") for k in (400, 384))

    assert (ragged.verdict, ragged.expected) == ("rejected", "right or refused")
    assert (whole.verdict, whole.expected) == ("passed", "compute")


def test_what_is_not_implemented_is_refused() -> None:
    assert judged(quantisers.Declines(RIGHT["division"]), QUICK[0]).verdict == "rejected"


@pytest.mark.parametrize(
    ("subject", "case", "missing"),
    [
        (quantisers.plain, f"{TOKENS}@ue8m0/m5-k384/bf16-e4m3fn/codes/s0", "use_ue8m0"),
        (quantisers.plain, f"{TOKENS}@column-major/m5-k384/bf16-e4m3fn/codes/s0", "column_major_scales"),
        (quantisers.plain, f"{TOKENS}/m5-k384/bf16-e5m2/codes/s0", "dtype"),
        (quantisers.plain, "quantise/block128x128/n144-k400/bf16-e4m3fn/codes/s0", "per_block_quant_fp8"),
        (quantisers.of_blocks, f"{TOKENS}/m5-k384/bf16-e4m3fn/codes/s0", "per_token_group_quant_fp8"),
    ],
)
def test_what_a_function_lacks_is_unsupported_with_the_reason(subject: Any, case: str, missing: str) -> None:
    record = judged(subject, case)

    assert record.verdict == "unsupported"
    assert missing in record.reason


def test_a_plain_function_is_told_by_its_signature() -> None:
    assert judged(quantisers.plain, f"{TOKENS}/m5-k384/bf16-e4m3fn/codes/s0").verdict == "passed"
    assert judged(quantisers.of_blocks, "quantise/block128x128/n144-k400/bf16-e4m3fn/codes/s0").verdict == "passed"


@pytest.mark.parametrize(("subject", "said"), [(3, "is no function"), (type("Q", (), {"name": "a/b"})(), "`name`")])
def test_what_is_no_quantiser_is_answered_with_what_to_write(subject: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Quantiser(subject, spec="m:q")


def test_an_unknown_variant_is_answered_with_those_there_are() -> None:
    class Declares(Made):
        arithmetic = "divison"

    with pytest.raises(UsageError, match="did you mean 'division'"):
        Quantiser(Declares(RIGHT["division"]), spec="m:q")


# The derivation itself, held to fractions.


@pytest.mark.parametrize("target", FORMATS)
def test_rounding_to_codes_is_that_of_fractions(target: str) -> None:
    case = parse_case(f"{TOKENS}/m1-k1/fp32-{target}/normal/s0")
    assert isinstance(case, QuantCase)
    kind = FORMATS[target]
    codes = [Fraction(kind.decode_code(code)) for code in range(128) if kind.decode_code(code) <= kind.quant_max]
    hair = Fraction(1, 1 << 40)
    values = [point for a, b in pairwise(codes) for m in [(a + b) / 2] for point in (a, m - a * hair, m, m + hair * m)]
    values += [codes[-1] * 2]

    def nearest(value: Fraction) -> Fraction:
        place = min(range(len(codes)), key=lambda code: (abs(codes[code] - value), code % 2))
        return codes[place]

    legal = Legal(case, torch.zeros(1, 1))
    actual = legal.rounded(torch.tensor([[float(value) for value in values]], dtype=torch.float64))
    assert actual[0].tolist() == [float(nearest(value)) for value in values]


@pytest.mark.parametrize("option", ["", "@ue8m0"])
@pytest.mark.parametrize("family", ["normal", "scale-edges", "small", "zeros"])
def test_scales_are_those_of_fractions(family: str, option: str) -> None:
    case = parse_case(f"{TOKENS}{option}/m5-k384/fp32-e4m3fn/{family}/s0")
    assert isinstance(case, QuantCase)
    x = build_input(case).x
    eps = Fraction(torch.tensor(1e-10).item())

    def owed(group: list[float]) -> float:
        quotient = max(eps, *(abs(Fraction(value)) for value in group)) / 448
        if not option:
            return next(f for f in _neighbours(float(quotient)) if _is_nearest(f, quotient))
        power = Fraction(1, 1 << 33)
        while power < quotient:
            power *= 2
        return float(power)

    expected = [[owed(row[i : i + 128].tolist()) for i in range(0, 384, 128)] for row in x]
    assert Legal(case, x).scales("division").tolist() == expected


def _neighbours(value: float) -> list[float]:
    near = torch.tensor(value, dtype=torch.float32)
    return [float(x) for x in (near, near.nextafter(near * 2), near.nextafter(near * 0))]


def _is_nearest(candidate: float, value: Fraction) -> bool:
    return all(abs(Fraction(candidate) - value) <= abs(Fraction(f) - value) for f in _neighbours(candidate))


def test_a_scale_three_units_off_is_wrong_and_one_two_units_off_is_not() -> None:
    case = parse_case(f"{TOKENS}/m5-k384/bf16-e4m3fn/normal/s0")
    assert isinstance(case, QuantCase)
    legal = Legal(case, build_input(case).x)
    right = legal.scales("division").view(torch.int32)

    actual = [bool(legal.wrong_scales((right + off).view(torch.float32)).all()) for off in (-3, -2, 2, 3)]
    assert actual == [True, False, False, True]


@pytest.mark.parametrize(
    ("amax", "right"),
    [
        (448.0, {1.0}),
        (448 * (1 + 2.0**-20), {1.0, 2.0}),
        (448 * (1 + 2.0**-12), {2.0}),
        (448 * (1 - 2.0**-20), {1.0}),
        (4.48e-8, {2.0**-33}),
        (0.0, {2.0**-33}),
    ],
)
def test_a_power_of_two_is_rounded_up_and_by_a_hair_in_either_direction(amax: float, right: set[float]) -> None:
    case = parse_case(f"{TOKENS}@ue8m0/m1-k1/fp32-e4m3fn/normal/s0")
    assert isinstance(case, QuantCase)
    legal = Legal(case, torch.tensor([[amax]]))

    candidates = [2.0**-34, 2.0**-33, 2.0**-32, 0.5, 1.0, 2.0, 4.0, 0.0, torch.inf, torch.nan]
    assert {x for x in candidates if not legal.wrong_scales(torch.tensor([[x]])).any()} == right


def test_of_a_tie_one_code_is_right_under_a_power_of_two_and_both_are_under_any_other() -> None:
    case = parse_case(f"{TOKENS}/m1-k2/fp32-e4m3fn/normal/s0")
    assert isinstance(case, QuantCase)

    def wrong(amax: float, code: float) -> bool:
        scale = amax / 448
        legal = Legal(case, torch.tensor([[amax, 17 * scale]]))
        return bool(legal.wrong_codes(torch.tensor([[448.0, code]]), legal.scales("division"))[0, 1])

    assert [wrong(448.0, code) for code in (14.0, 16.0, 18.0, 20.0)] == [True, False, True, True]
    assert [wrong(7 * 448.0, code) for code in (14.0, 16.0, 18.0, 20.0)] == [True, False, False, True]


@pytest.mark.parametrize(
    ("off", "right"),
    [(2.0**-20, [18.0]), (2.0**-23, [16.0, 18.0]), (-(2.0**-23), [16.0, 18.0]), (-(2.0**-20), [16.0])],
)
def test_beside_a_tie_both_codes_are_right_as_far_as_a_division_may_be_off(off: float, right: list[float]) -> None:
    case = parse_case(f"{TOKENS}/m1-k2/fp32-e4m3fn/normal/s0")
    assert isinstance(case, QuantCase)
    legal = Legal(case, torch.tensor([[7 * 448.0, 7 * 17 * (1 + off)]]))

    wrong = [bool(legal.wrong_codes(torch.tensor([[448.0, x]]), torch.tensor([[7.0]]))[0, 1]) for x in (16.0, 18.0)]
    assert [x for x, is_wrong in zip((16.0, 18.0), wrong, strict=True) if not is_wrong] == right
