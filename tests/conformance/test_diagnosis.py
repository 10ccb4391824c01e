"""Naming faults and arithmetics, on kernels whose fault is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import kernels
import pytest
import torch
from torch import Tensor

from cases import parse_case
from cases.operands import build_operands
from conformance.backends.protocol import Backend
from conformance.diagnosis.naming import name_arithmetic, name_fault
from conformance.diagnosis.probes import ask, consistent, probes
from conformance.diagnosis.reading import Memory, honest
from conformance.diagnosis.suspects import suspects
from conformance.explaining.rerunning import rerun
from conformance.presentation import Presented, present
from conformance.request import Request
from reference import ARITHMETICS, SM90, Arithmetic, emulate_block_scaled_mm

CASE = parse_case("gemm/1x128-128x128/m5-n400-k1136/fp32/uniform-codes/s0")
PRESENTED = present(build_operands(CASE))
EVERYTHING = torch.ones(5, 400, dtype=torch.bool)


def sm90(A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, **changes: object) -> Tensor:
    return emulate_block_scaled_mm(A, B, As, Bs, **{"out_dtype": torch.float32, **changes})  # type: ignore[arg-type]


def read_with_leading_dimension(Bs: Tensor, leading: int) -> Tensor:
    """What an unpadded operand is to a kernel that expects padded ones: it runs on into the guard band."""
    return torch.as_strided(Bs, Bs.shape, (leading, 1), Bs.storage_offset()).contiguous()


def dropped_tail(A: Tensor) -> Tensor:
    rest = A.clone()
    rest.view(torch.uint8)[:, 1024:] = 0
    return rest


FAULTS: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]] = {
    "reading the B scales with leading dimension 12 instead of 9": lambda A, B, As, Bs: sm90(
        A, B, As, read_with_leading_dimension(Bs, 12)
    ),
    "using the A scale of the next K block": lambda A, B, As, Bs: sm90(A, B, torch.cat([As[:, 1:], As[:, -1:]], 1), Bs),
    "using the B scale of the previous N block": lambda A, B, As, Bs: sm90(A, B, As, torch.cat([Bs[:1], Bs[:-1]])),
    "using the A scale of the next row": lambda A, B, As, Bs: sm90(A, B, torch.cat([As[1:], As[-1:]]), Bs),
    "leaving out the B scales": lambda A, B, As, Bs: sm90(A, B, As, torch.ones_like(Bs)),
    "applying the A scales twice": lambda A, B, As, Bs: sm90(A, B, As * As, Bs),
    "A and B scales rounded to bfloat16": lambda A, B, As, Bs: sm90(A, B, As.bfloat16().float(), Bs.bfloat16().float()),
    "B scales rounded up to powers of two": lambda A, B, As, Bs: sm90(A, B, As, torch.exp2(torch.ceil(torch.log2(Bs)))),
    "leaving out the ragged end of K": lambda A, B, As, Bs: sm90(dropped_tail(A), B, As, Bs),
    "the previous row": lambda A, B, As, Bs: sm90(A.view(torch.uint8).roll(1, 0).view(A.dtype), B, As.roll(1, 0), Bs),
    "adding only the first split-K slice": lambda A, B, As, Bs: sm90(A[:, :512], B[:, :512], As[:, :4], Bs[:, :4]),
    "rounding the output to bfloat16 on the way": lambda A, B, As, Bs: sm90(A, B, As, Bs).bfloat16().float(),
    "flipping the sign of the output": lambda A, B, As, Bs: -sm90(A, B, As, Bs),
    "not writing the output (zeros)": lambda A, B, As, Bs: torch.zeros(5, 400),
}


@pytest.mark.parametrize("says", FAULTS)
def test_a_single_fault_is_named_to_the_last_bit(says: str) -> None:
    out = FAULTS[says](*PRESENTED.tensors)
    wrong = out != sm90(*PRESENTED.tensors)

    named = name_fault(PRESENTED, CASE.problem, out, wrong, SM90)

    assert named is not None
    assert (named.says, named.bitwise, named.explained) == (says, True, int(wrong.sum()))


def test_a_fault_in_another_arithmetic_is_named_within_the_bound() -> None:
    out = kernels.NextScale().apply_block_scaled_mm(*PRESENTED.tensors, out_dtype=torch.float32)
    wrong = (out - sm90(*PRESENTED.tensors)).abs() > 0.1 * out.abs()

    named = name_fault(PRESENTED, CASE.problem, out, wrong, None)

    assert named is not None
    assert named.says == "using the B scale of the previous K block in the last K block"
    assert (named.bitwise, named.explained) == (False, int(wrong.sum()))
    assert "within its error bound" in named.sentence()


def test_what_no_single_fault_gives_stays_unexplained() -> None:
    A, B, As, Bs = PRESENTED.tensors
    out = sm90(A, B, As * 1.37, Bs)

    assert name_fault(PRESENTED, CASE.problem, out, EVERYTHING, SM90) is None


def test_a_partly_named_fault_says_how_far_it_goes() -> None:
    out = -sm90(*PRESENTED.tensors)
    out[4, 399] = 12345.0
    named = name_fault(PRESENTED, CASE.problem, out, EVERYTHING, SM90)

    assert named is not None
    assert named.sentence().startswith("1999 of 2000 wrong elements equal")


def test_every_suspect_of_the_catalogue_differs_from_the_right_reading() -> None:
    right = honest(PRESENTED, CASE.problem)
    said = [suspect.says for suspect in suspects(right, Memory.of(PRESENTED, CASE.problem))]

    assert len(said) == len(set(said)) > 50


@pytest.mark.parametrize("name", ["sm89", "sm100", "sm90-mma-sync", "cdna3"])
def test_other_arithmetics_are_named(name: str) -> None:
    out = sm90(*PRESENTED.tensors, arithmetic=ARITHMETICS[name])

    named = name_arithmetic(honest(PRESENTED, CASE.problem), out, CASE.problem.recipe)

    assert named is not None
    assert named.arithmetic == name


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"fraction_bits": 12}, "sm90 with fraction_bits 12"),
        ({"fraction_bits": 14}, "sm90 with fraction_bits 14"),
        ({"group": 64}, "sm90 with group 64"),
        ({"promotion": 256}, "sm90 with promotion 256"),
        ({"promotion": 1152}, "sm90 without promotion"),
        ({"scale_order": "b-then-a"}, "sm90 with scale_order b-then-a"),
        ({"fused": False}, "sm90 with fused False"),
        ({"alignment": "nearest", "normalisation": "nearest"}, "sm90 rounding instead of truncating"),
    ],
)
def test_a_changed_parameter_is_named(change: dict[str, Any], name: str) -> None:
    out = sm90(*PRESENTED.tensors, arithmetic=replace(SM90, name="?", **change))

    named = name_arithmetic(honest(PRESENTED, CASE.problem), out, CASE.problem.recipe)

    assert named is not None
    assert (named.arithmetic, named.explained) == (name, out.numel())


def test_a_mixture_of_arithmetics_has_no_name() -> None:
    out = sm90(*PRESENTED.tensors)
    out[0] = sm90(*PRESENTED.tensors, arithmetic=ARITHMETICS["sm100"])[0]

    assert name_arithmetic(honest(PRESENTED, CASE.problem), out, CASE.problem.recipe) is None


VARIANTS = {
    "12 fraction bits": replace(SM90, fraction_bits=12),
    "14 fraction bits": replace(SM90, fraction_bits=14),
    "rounding": replace(SM90, alignment="nearest", normalisation="nearest"),
    "promotion every 256": replace(SM90, promotion=256),
}


class Varied:
    name = "varied"

    def __init__(self, arithmetic: Arithmetic) -> None:
        self._arithmetic = arithmetic

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        return emulate_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype, arithmetic=self._arithmetic)


@pytest.mark.parametrize("what", VARIANTS)
def test_probes_tell_variants_from_sm90(what: str) -> None:
    answers = ask(Backend(Varied(VARIANTS[what]), spec="test"), torch.device("cpu"))

    assert "sm90" not in consistent(answers)


def test_probes_know_sm90_alone() -> None:
    answers = ask(Backend(Varied(SM90), spec="test"), torch.device("cpu"))

    assert consistent(answers) == ("sm90",)
    assert len(answers) == len(list(probes())) == 22


def test_a_backend_that_raises_answers_nothing() -> None:
    answers = ask(Backend(kernels.Raises(), spec="test"), torch.device("cpu"))

    assert consistent(answers) == ()
    assert all(answer.value != answer.value for answer in answers)


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ("stagnation", 32768.0),
        ("alignment", 16384.0),
        ("chained", 16384.0),
        ("promotion-96", 16384.0),
        ("promotion-128", 16416.0),
        ("not-monotone", 16414.0),
        ("not-monotone-up", 16384.0),
        ("block-order-0-7", 0.0),
        ("block-order-4-1", 3.0),
        ("bf16-tie-257", 256.0),
        ("bf16-tie-259", 260.0),
        ("fp16-65519", 65504.0),
        ("fp16-65520", float("inf")),
    ],
)
def test_probes_have_the_values_measured_on_hopper(probe: str, expected: float) -> None:
    (found,) = (p for p in probes() if p.name == probe)

    assert found.expected(SM90) == expected


def test_explain_says_what_is_right_what_is_wrong_and_what_was_refused() -> None:
    request = Request(("emulated-sm90", "kernels:NextScale", "torch-v2"), "cpu", cases=(CASE.id,))
    right, wrong, refused = (account.line for account in rerun(request))

    assert right["finding"] == "right; every bit is what sm90 gives, with 9 K blocks a chunk"
    assert "using the B scale of the previous K block in the last K block" in wrong["finding"]
    assert (refused["verdict"], "finding" in refused) == ("rejected", False)


def test_explain_does_not_call_what_is_declared_unsupported() -> None:
    (declined,) = rerun(Request(("kernels:Unsupported",), "cpu", cases=(CASE.id,)))

    assert (declined.line["verdict"], "finding" in declined.line) == ("unsupported", False)


def test_memory_ends_where_the_buffer_ends() -> None:
    memory = Memory.of(PRESENTED, CASE.problem)
    far = torch.tensor([[10**9]])

    assert memory.b_scales_at(far) == memory.flat_b[-1]


def _presented_is_untouched(presented: Presented) -> bool:
    return presented.damage() is None


def test_naming_leaves_the_operands_alone() -> None:
    name_fault(PRESENTED, CASE.problem, torch.zeros(5, 400), EVERYTHING, SM90)

    assert _presented_is_untouched(PRESENTED)
