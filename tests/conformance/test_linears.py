"""Linears as subjects: right ones pass, every wrong one fails where it shows, and what is right is the exact sum."""

from __future__ import annotations

from typing import Any

import linears
import pytest
import torch
from linears import RIGHT
from quantisers import Steps

from cases import LinearCase, parse_case
from cases.linears import linears as planned
from cases.linears.fill import build_given
from conformance.errors import UsageError
from conformance.linears.built_in import ReferenceLinear
from conformance.linears.catalogue import FAULTS
from conformance.linears.linear import Linear
from conformance.linears.task import LinearTask
from conformance.probe import probe
from conformance.verdict import CaseRecord
from reference.formats import decode

CPU = torch.device("cpu")
PLATFORM = probe(CPU)
QUICK = [case for case in planned("quick") if case.problem.k < 7168]
SMALL = [case for case in QUICK if case.macs < 1 << 20]
RECIPE = "linear/1x128-128x128"


def judged(subject: Any, case: LinearCase | str) -> CaseRecord:
    """The record of a case on a subject."""
    case = parse_case(case) if isinstance(case, str) else case  # type: ignore[assignment]
    assert isinstance(case, LinearCase)
    return LinearTask.of(case, Linear(subject, spec="m:made"), PLATFORM).run(seed=0, device=CPU)


@pytest.mark.parametrize("name", RIGHT)
def test_every_right_linear_passes_every_small_case(name: str) -> None:
    wrong = [(r.id, r.detail) for r in (judged(RIGHT[name], case) for case in SMALL) if r.verdict != "passed"]

    assert wrong == []


def test_the_reference_is_right_at_upstreams_size() -> None:
    assert judged(ReferenceLinear(), f"{RECIPE}/m83-n576-k7168/bf16/bias/tagged-rows/s0").verdict == "passed"


@pytest.mark.parametrize(("name", "place"), [("after", "bias after the cast"), ("before", "bias before the cast")])
def test_where_the_bias_is_added_is_told(name: str, place: str) -> None:
    measured = judged(RIGHT[name], f"{RECIPE}/m83-n272-k640/bf16/bias/tagged-rows/s0").measured

    assert measured is not None
    assert measured.arithmetic == place


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_the_catalogue_fails_a_case_of_quick(fault: str) -> None:
    assert any(judged(FAULTS[fault].build(), case).verdict == "failed" for case in QUICK)


@pytest.mark.parametrize(
    ("fault", "case"),
    [
        ("bias-twice", "/m5-n144-k384/bf16/bias/tagged-rows"),
        ("bias-left-out", "/m5-n144-k384/bf16/bias/tagged-rows"),
        ("bias-scaled", "/m5-n144-k384/bf16/bias/tagged-rows"),
        ("bias-of-next-column", "/m5-n144-k384/bf16/bias/tagged-rows"),
        ("bias-of-first-tile", "/m5-n144-k384/bf16/bias/tagged-rows"),
        ("bias-in-fp8", "/m5-n144-k384/bf16/bias/tagged-rows"),
        ("bias-in-bf16", "/m83-n272-k640/fp32/bias/tagged-rows"),
        ("cast-truncated", "/m83-n272-k640/bf16/bias/tagged-rows"),
        ("result-in-bf16", "/m83-n272-k640/fp32/no-bias/tagged-rows"),
        ("result-in-fp16", "/m83-n272-k640/bf16/bias/uniform-codes"),
        ("batch-first", "@x-3d/m6-n272-k384/bf16/bias/tagged-rows"),
        ("strides-ignored", "@x-rows-padded/m6-n272-k384/bf16/bias/tagged-rows"),
        ("scales-of-x-left-out", "/m5-n144-k384/bf16/no-bias/tagged-rows"),
        ("scales-of-rows-of-64", "/m83-n272-k640/fp32/bias/tagged-rows"),
        ("rows-shifted", "/m83-n272-k640/fp32/bias/tagged-rows"),
        ("last-k-block-lost", "/m5-n144-k384/bf16/no-bias/tagged-rows"),
        ("signed-amax", "/m5-n144-k384/bf16/bias/integer-codes"),
        ("no-eps", "/m5-n144-k384/bf16/bias/zero-groups"),
        ("nan-swallowed", "/m5-n144-k384/bf16/bias/one-special"),
    ],
)
def test_a_fault_is_caught_where_it_shows_and_named(fault: str, case: str) -> None:
    record = judged(FAULTS[fault].build(), f"{RECIPE}{case}/s0")

    assert (record.verdict, record.fault) == ("failed", fault)
    assert record.reason == ("out-of-bound" if "uniform" in case else "wrong-values")
    assert record.where
    assert record.measured is not None
    assert record.measured.first_wrong


@pytest.mark.parametrize(
    ("fault", "family"),
    [
        ("half-away", "ties"),
        ("amax-of-row", "lone-blocks"),
        ("no-eps", "zero-groups"),
        ("nan-swallowed", "one-special"),
    ],
)
def test_a_family_sees_what_no_other_does(fault: str, family: str) -> None:
    cases = [case for case in QUICK if case.problem.m == 5]
    failed = {case.family.name for case in cases if judged(FAULTS[fault].build(), case).verdict == "failed"}

    assert failed == {family}


@pytest.mark.parametrize(
    ("subject", "case", "reason"),
    [
        (linears.WritesInput, "", "memory-changed"),
        (linears.Nothing, "", "nothing-returned"),
        (linears.Flat, "@x-3d", "wrong-shape"),
        (linears.InFloat, "", "wrong-dtype"),
        (linears.Raises, "", "raised"),
        (linears.OtherEachTime, "@twice", "results-differ"),
        (linears.OneBuffer, "@twice", "results-shared"),
    ],
)
def test_what_is_wrong_beside_the_values_fails(subject: type[linears.Odd], case: str, reason: str) -> None:
    id_ = f"{RECIPE}{case}/m6-n272-k384/bf16/bias/tagged-rows/s0"

    assert judged(subject(), id_).reason == reason
    assert judged(linears.Odd(), id_).verdict == "passed"


def test_what_a_function_lacks_is_unsupported_and_the_rest_is_judged() -> None:
    ids = [f"{RECIPE}/m5-n144-k384/bf16/{bias}/tagged-rows/s0" for bias in ("bias", "no-bias")]
    biased, plain = (judged(linears.plain, id_) for id_ in ids)

    assert (biased.verdict, biased.reason) == ("unsupported", "made: it takes no bias.")
    assert plain.verdict == "passed"


@pytest.mark.parametrize("k", [384, 400])
def test_ragged_k_may_be_refused_and_whole_k_is_owed(k: int) -> None:
    record = judged(linears.Odd(), f"{RECIPE}/m5-n144-k{k}/bf16/bias/tagged-rows/s0")

    assert record.expected == ("compute" if k == 384 else "right or refused")


def test_what_is_no_linear_is_answered_with_what_to_write() -> None:
    with pytest.raises(UsageError, match=r"write linear\(x, weight, weight_scale, bias=None, out_dtype=None\)"):
        Linear(3, spec="m:three")


# The cases themselves.


@pytest.mark.parametrize("case", [case for case in QUICK if not case.family.is_special], ids=lambda case: case.id)
def test_what_is_given_has_one_quantisation(case: LinearCase) -> None:
    given = build_given(case)
    codes = given.operands.A

    for use_ue8m0 in (False, True):
        actual, scales = Steps().quantise(given.x, 1, 128, codes.dtype, use_ue8m0)
        assert torch.equal(decode(actual), decode(codes))
        assert torch.equal(scales[scales > 1e-9], given.operands.As[scales > 1e-9])


def test_biases_tell_columns_apart() -> None:
    case = parse_case(f"{RECIPE}/m5-n384-k1024/bf16/bias/tagged-rows/s0")
    assert isinstance(case, LinearCase)
    bias = build_given(case).bias

    assert bias is not None
    for shift in range(1, 257):
        assert int((bias[shift:] != bias[:-shift]).sum()) > (bias.numel() - shift) * 0.9
