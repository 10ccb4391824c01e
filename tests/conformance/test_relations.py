"""Relations between results: who passes them, and whom they catch that a single call does not."""

from __future__ import annotations

from typing import Any

import kernels
import pytest
import torch
import unrelated_kernels as unrelated

from cases import Case, Problem, parse_case
from cases.operands import Operands, build_operands
from cases.problem import BLOCK_RECIPES
from cases.relations import RELATIONS, Related, Relation
from cases.relations.rescale import NO_ROOM
from cases.stream import Stream
from conformance.backends.models import EmulatedSM90
from conformance.backends.protocol import Backend
from conformance.evidence import Evidence
from conformance.execute import Assignment, run_case
from conformance.probe import Platform
from conformance.scenarios.relations import perform_relation
from conformance.trial import Trial
from conformance.verdict import CaseRecord
from reference import SM90, Arithmetic, emulate_block_scaled_mm
from reference.arithmetic import CDNA3, SM89, SM100

CPU = Platform("cpu", "x86_64", torch.__version__)
HOPPER, UNKNOWN = (Platform("cuda", arch, "2.11.0", "13.0") for arch in ("sm90", "sm77"))
FAMILIES = ("tagged-integers", "uniform-codes", "quantised-normal")
SHAPE = "m5-n272-k400"
FIVE = "1x128-128x128/m5-n272-k640/fp32/uniform-codes/s0"


def judged(subject: object, case: str | Case, platform: Platform = CPU) -> CaseRecord:
    backend = Backend(subject() if isinstance(subject, type) else subject, spec="test")
    case = parse_case(case) if isinstance(case, str) else case
    return run_case(Assignment.of(case, backend, platform), seed=0, device=torch.device("cpu"))


class Declaring:
    """A kernel of one arithmetic that says so."""

    def __init__(self, arithmetic: Arithmetic, split_k: int | None = None) -> None:
        self.name, self.arithmetic, self._split_k = arithmetic.name, arithmetic, split_k

    def apply_block_scaled_mm(self, A: Any, B: Any, As: Any, Bs: Any, *, out_dtype: Any, recipe: str) -> torch.Tensor:
        return emulate_block_scaled_mm(
            A, B, As, Bs, out_dtype=out_dtype, recipe=recipe, arithmetic=self.arithmetic, split_k=self._split_k
        )


@pytest.mark.parametrize("values", FAMILIES)
@pytest.mark.parametrize("recipe", BLOCK_RECIPES)
@pytest.mark.parametrize("name", RELATIONS)
def test_the_model_keeps_every_relation(name: str, recipe: str, values: str) -> None:
    record = judged(EmulatedSM90, f"relation/{name}/{recipe}/{SHAPE}/fp32/{values}/s0")

    assert (record.verdict, record.detail) == ("passed", "")


@pytest.mark.parametrize(("values", "out"), [*zip(FAMILIES, ("bf16", "fp32", "fp16"), strict=True)])
@pytest.mark.parametrize("kernel", [kernels.Reversed, kernels.DequantiseFirst, unrelated.Loop])
@pytest.mark.parametrize("name", RELATIONS)
def test_honest_kernels_keep_every_relation(name: str, kernel: type, values: str, out: str) -> None:
    record = judged(kernel, f"relation/{name}/1x128-128x128/{SHAPE}/{out}/{values}/s1")

    assert (record.verdict, record.detail) == ("passed", "")


@pytest.mark.parametrize("kernel", [EmulatedSM90, kernels.Reversed])
@pytest.mark.parametrize("name", [name for name in RELATIONS if name != "permute-rows"])
def test_a_single_row_is_related_too(name: str, kernel: type) -> None:
    record = judged(kernel, f"relation/{name}/1x128-128x128/m1-n256-k272/bf16/uniform-codes/s0")

    assert (record.verdict, record.detail) == ("passed", "")


@pytest.mark.parametrize("arithmetic", [SM89, SM100, CDNA3], ids=lambda a: a.name)
@pytest.mark.parametrize("name", RELATIONS)
def test_a_kernel_of_another_arithmetic_is_owed_what_that_keeps(name: str, arithmetic: Arithmetic) -> None:
    recipe = BLOCK_RECIPES[len(name) % 3]
    record = judged(Declaring(arithmetic), f"relation/{name}/{recipe}/{SHAPE}/fp32/uniform-codes/s0")

    keeps = RELATIONS[name].strength != "bound" and RELATIONS[name].keeps(arithmetic)
    assert (record.verdict, record.detail) == ("passed", "")
    assert (record.holds is None) == (keeps or name == "split-k-in-two")


@pytest.mark.parametrize("name", RELATIONS)
def test_a_kernel_that_splits_k_keeps_them(name: str) -> None:
    record = judged(Declaring(SM90, split_k=4), f"relation/{name}/1x128-128x128/m3-n256-k1040/fp32/quantised-normal/s0")

    assert (record.verdict, record.detail) == ("passed", "")


@pytest.mark.parametrize("name", RELATIONS)
def test_special_values_of_a_declared_arithmetic_are_related_too(name: str) -> None:
    record = judged(Declaring(SM90), f"relation/{name}/1x128-1x128/m40-n256-k256/fp32/special-values/s0")

    assert record.verdict == ("unsupported" if record.reason == NO_ROOM else "passed")
    assert record.reason != NO_ROOM or name in ("move-power-of-two", "scale-row", "scale-n-block")


@pytest.mark.parametrize("name", ["scale-row", "scale-n-block"])
def test_results_that_float16_holds_in_fewer_bits_are_not_compared(name: str) -> None:
    case = parse_case(f"relation/{name}/1x128-128x128/{SHAPE}/fp16/uniform-codes/s0")
    operands = build_operands(case)
    tiny = Operands(operands.A, operands.B, operands.As * 2.0**-22, operands.Bs, "tiny")
    assignment = Assignment.of(case, Backend(unrelated.Loop(), spec="test"), CPU)

    found = perform_relation(Trial(assignment, Evidence(case.problem, tiny)))

    assert found.output is not None
    assert 0 < found.output.abs().mean() < 2.0**-14
    assert (found.judgement.verdict, found.judgement.detail) == ("passed", "")


CAUGHT_BY_EVERY_BIT = {
    "permute-rows": unrelated.FirstRow,
    "permute-columns": unrelated.FirstColumn,
    "permute-n-blocks": unrelated.FirstNBlock,
    "permute-k-in-groups": unrelated.FirstLane,
    "negate-a": unrelated.Floor,
    "negate-lanes": unrelated.SignOfWeight,
    "move-power-of-two": unrelated.FixedPointActivations,
    "scale-row": unrelated.FixedPointActivations,
    "scale-n-block": unrelated.FixedPointWeights,
    "zero-block": unrelated.SharedExponent,
}
CAUGHT_BY_OTHER_DATA = {
    "append-zero-k": (unrelated.OnlyFiveKBlocks, FIVE),
    "split-k-in-two": (unrelated.OnlyFiveKBlocks, FIVE),
    "permute-k-blocks": (unrelated.FirstKBlock, "1x128-128x128/m1-n16-k640/fp32/uniform-codes/s0"),
    "permute-k": (unrelated.LosesALane, "1x128-128x128/m1-n16-k640/fp32/uniform-codes/s9"),
}


def test_every_relation_catches_somebody() -> None:
    assert {*CAUGHT_BY_EVERY_BIT, *CAUGHT_BY_OTHER_DATA} == {*RELATIONS}


@pytest.mark.parametrize(("name", "kernel"), CAUGHT_BY_EVERY_BIT.items())
def test_a_fault_below_the_bound_shows_between_two_calls(name: str, kernel: type) -> None:
    plain = judged(kernel, f"gemm/{FIVE}")
    record = judged(kernel, f"relation/{name}/{FIVE}")

    assert plain.verdict == "passed"
    assert (record.verdict, record.reason) == ("failed", "results-differ")
    assert record.detail.startswith(f"{name}: ")
    assert " of 1360 elements differ, the first at (" in record.detail
    assert record.measured == plain.measured
    assert record.output_digest == plain.output_digest
    assert record.input_digest == plain.input_digest


@pytest.mark.parametrize(("name", "kernel", "case"), [(n, k, c) for n, (k, c) in CAUGHT_BY_OTHER_DATA.items()])
def test_a_fault_that_other_operands_bring_out_shows_in_the_related_call(name: str, kernel: type, case: str) -> None:
    plain = judged(kernel, f"gemm/{case}")
    record = judged(kernel, f"relation/{name}/{case}")

    assert plain.verdict == "passed"
    assert (record.verdict, record.reason) == ("failed", "out-of-bound")
    assert record.detail.startswith(f"{name}: with the related operands (K = ")
    assert record.measured == plain.measured


@pytest.mark.parametrize("name", CAUGHT_BY_EVERY_BIT)
def test_a_kernel_that_is_not_deterministic_is_held_to_the_bound(name: str) -> None:
    kernel = type("Random", (CAUGHT_BY_EVERY_BIT[name],), {"capabilities": {"determinism": False}})

    record = judged(kernel, f"relation/{name}/{FIVE}")

    assert (record.verdict, record.holds) == ("passed", False)


@pytest.mark.parametrize("name", [n for n in RELATIONS if RELATIONS[n].strength == "declared"])
def test_without_a_declared_arithmetic_a_place_may_matter_within_the_bound(name: str) -> None:
    kernel = type("Undeclared", (CAUGHT_BY_EVERY_BIT[name],), {"arithmetic": None})

    record = judged(kernel, f"relation/{name}/{FIVE}")

    assert (record.verdict, record.holds) == ("passed", False)


def test_what_is_wrong_in_itself_is_wrong_at_once() -> None:
    plain = judged(kernels.NextScale, f"gemm/{FIVE}")
    record = judged(kernels.NextScale, f"relation/permute-rows/{FIVE}")

    assert (record.verdict, record.reason, record.detail) == ("failed", plain.reason, plain.detail)


@pytest.mark.parametrize("name", RELATIONS)
def test_a_raise_in_any_later_call_is_a_failure(name: str) -> None:
    record = judged(unrelated.EverySecondCallRaises, f"relation/{name}/{FIVE}")

    assert (record.verdict, record.reason) == ("failed", "raised")
    assert record.detail.startswith(f"{name}: ")
    assert record.detail.endswith("RuntimeError: the second call")
    assert record.computed


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [(unrelated.EverySecondCallWrites, "memory-changed"), (unrelated.EverySecondCallIsWider, "wrong-dtype")],
)
def test_misbehaviour_in_the_related_call_has_its_own_reason(kernel: type, reason: str) -> None:
    record = judged(kernel, f"relation/negate-lanes/{FIVE}")

    assert (record.verdict, record.reason) == ("failed", reason)
    assert record.detail.startswith("negate-lanes: with the related operands (K = 640), ")


def of_torch(kernel: type) -> Any:
    """A kernel that stands for one of torch's own, of which nothing is known on `UNKNOWN`: right or refused."""
    return type("Torch", (kernel,), {"api": "v2"})()


@pytest.mark.parametrize("calls", [0, 1])
def test_operands_of_one_shape_are_refused_twice_or_not_at_all(calls: int) -> None:
    kernel = of_torch(unrelated.EverySecondCallRaises)
    kernel.calls = calls

    record = judged(kernel, f"relation/permute-rows/{FIVE}", UNKNOWN)

    assert record.expected == "right or refused"
    assert (record.verdict, record.reason) == ("failed", "raised")
    assert record.detail.endswith("one of the two calls computes, the other one raises RuntimeError: the second call")


@pytest.mark.parametrize("name", ["append-zero-k", "split-k-in-two"])
@pytest.mark.parametrize(("calls", "computed"), [(0, True), (1, False)])
def test_operands_of_another_k_may_be_refused_where_nothing_is_known(name: str, calls: int, computed: bool) -> None:
    kernel = of_torch(unrelated.EverySecondCallRaises)
    kernel.calls = calls

    record = judged(kernel, f"relation/{name}/{FIVE}", UNKNOWN)

    assert (record.verdict, record.computed) == ("rejected", computed)
    assert record.detail.endswith("RuntimeError: the second call")
    assert ("related operands (K = " in record.detail) == computed


@pytest.mark.parametrize("name", RELATIONS)
def test_a_kernel_that_refuses_every_call_is_not_wrong(name: str) -> None:
    record = judged(of_torch(kernels.Raises), f"relation/{name}/{FIVE}", UNKNOWN)

    assert (record.verdict, record.computed) == ("rejected", False)


@pytest.mark.parametrize(("name", "k"), [("append-zero-k", 768), ("split-k-in-two", 256)])
def test_a_k_that_a_backend_does_not_implement_makes_the_relation_unsupported(name: str, k: int) -> None:
    class OnlyThisK(unrelated.Loop):
        def can_implement(self, problem: Any) -> tuple[bool, str | None]:
            return (True, None) if problem.k == 640 else (False, "K must be 640.")

    record = judged(OnlyThisK, f"relation/{name}/{FIVE}")

    assert (record.verdict, record.computed) == ("unsupported", False)
    assert record.reason == f"related operands with K = {k}: loop: K must be 640."


@pytest.mark.parametrize(("kernel", "verdict"), [(unrelated.FirstRow, "passed"), (unrelated.Drifting, "failed")])
def test_an_expected_arithmetic_is_owed_every_bit_once_it_has_shown_itself(kernel: type, verdict: str) -> None:
    subject = type("Torch", (kernel,), {"api": "v2", "arithmetic": None, "is_model": False})

    record = judged(subject, f"relation/permute-rows/{FIVE}", HOPPER)

    assert record.verdict == verdict


@pytest.mark.parametrize("kernel", [unrelated.Drifting, unrelated.SameMemory])
def test_results_in_the_same_memory_are_told_apart(kernel: type) -> None:
    record = judged(kernel, f"relation/negate-lanes/{FIVE}")

    assert (record.verdict, record.reason) == ("failed", "results-differ")


def test_zeros_of_either_sign_are_equal() -> None:
    class NoNegativeZero(unrelated.Loop):
        def apply_block_scaled_mm(self, *operands: Any, out_dtype: Any) -> torch.Tensor:
            out = super().apply_block_scaled_mm(*operands, out_dtype=out_dtype)
            return torch.where(out == 0, 0.0, out)

    record = judged(NoNegativeZero, "relation/negate-a/1x128-128x128/m5-n144-k128/bf16/tagged-integers/s0")

    assert (record.verdict, record.reason) == ("passed", "")


def test_halves_that_are_not_the_whole_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = RELATIONS["negate-lanes"].transform

    def twice(operands: Operands, problem: Problem, stream: Stream) -> Related:
        related = whole(operands, problem, stream)
        assert isinstance(related, Related)
        return Related(related.parts * 2)

    monkeypatch.setitem(RELATIONS, "split-k-in-two", Relation("split-k-in-two", "bound", twice))

    record = judged(unrelated.Loop, f"relation/split-k-in-two/{FIVE}")

    assert (record.verdict, record.reason) == ("failed", "results-differ")
    assert "elements are not the sum, the first at (0, 0)" in record.detail
