"""Every state of `cases.scenarios`: right kernels pass it, and one that a plain call shows nothing of fails it."""

from __future__ import annotations

from collections.abc import Callable

import compiled_kernels as compiled
import kernels
import pytest
import stateful_kernels as stateful
import torch

from cases import parse_case
from cases.scenarios import COMPILE, SCENARIOS
from conformance.backends.models import EmulatedSM90, Native
from conformance.backends.protocol import Backend
from conformance.execute import Assignment, run_case
from conformance.probe import Platform, probe
from conformance.scenarios import compiling
from conformance.scenarios.states import STATES
from conformance.verdict import CaseRecord

CPU = torch.device("cpu")
GPUS = [torch.device("cuda", 0)] if torch.cuda.is_available() else []
SMALL = "1x128-128x128/m5-n144-k400"
EXACT, BOUND = "tagged-integers/s0", "uniform-codes/s0"
ON_CPU = [s.name for s in SCENARIOS.values() if s.kind == "state" and not s.needs_gpu]
ON_GPU = [s.name for s in SCENARIOS.values() if s.kind == "state" and s.needs_gpu]
Make = Callable[[], object]
on_every_device = pytest.mark.parametrize("device", [CPU, *GPUS], ids=str)


@pytest.fixture(autouse=True)
def _quick_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dynamo alone: the C++ that inductor builds takes most of a minute."""
    monkeypatch.setattr(compiling, "COMPILER", "eager")


def judged(
    make: Make,
    scenario: str,
    *,
    problem: str = SMALL,
    out: str = "bf16",
    values: str = EXACT,
    device: torch.device = CPU,
    platform: Platform | None = None,
) -> CaseRecord:
    """The record of a fresh kernel in ``scenario``: a plain call if that is empty."""
    case = parse_case(f"{f'state/{scenario}' if scenario else 'gemm'}/{problem}/{out}/{values}")
    assignment = Assignment.of(case, Backend(make(), spec="test"), platform or probe(device))
    return run_case(assignment, seed=0, device=device)


def test_every_state_is_carried_out_and_no_other() -> None:
    assert set(STATES) == {*ON_CPU, *ON_GPU}


@on_every_device
@pytest.mark.parametrize("values", [EXACT, BOUND])
@pytest.mark.parametrize("state", ON_CPU)
@pytest.mark.parametrize("kernel", [kernels.Reversed, kernels.DequantiseFirst, Native])
def test_honest_kernels_pass(kernel: type, state: str, values: str, device: torch.device) -> None:
    record = judged(kernel, state, values=values, device=device)

    assert (record.verdict, record.reason) == ("passed", ""), record.detail
    assert record.computed
    # Libraries of matrices may take another order for another size, and compilers another one than eager code.
    assert record.holds is not False or state in ("batch-invariance", "compiled")


@pytest.mark.parametrize("recipe", ["1x128-128x128", "128x128-1x128", "1x128-1x128"])
@pytest.mark.parametrize("state", [state for state in ON_CPU if SCENARIOS[f"state/{state}"].capability != COMPILE])
def test_the_model_passes_for_every_recipe_and_every_property_holds(state: str, recipe: str) -> None:
    record = judged(EmulatedSM90, state, problem=f"{recipe}/m130-n32-k144", values=BOUND)

    assert (record.verdict, record.reason) == ("passed", ""), record.detail
    assert record.holds is (None if state in ("same-pointers", "edited", "restrided", "surroundings") else True)


@pytest.mark.parametrize("shape", ["m0-n144-k400", "m1-n16-k16", "m130-n16-k128"])
@pytest.mark.parametrize("state", ON_CPU)
def test_every_state_has_room_for_few_and_many_rows(state: str, shape: str) -> None:
    record = judged(kernels.Reversed, state, problem=f"1x128-128x128/{shape}", values=BOUND)

    assert (record.verdict, record.reason) == ("passed", ""), record.detail


@pytest.mark.parametrize("state", ON_CPU)
def test_a_plain_call_that_is_wrong_or_refused_settles_the_verdict(state: str) -> None:
    # Undeclared, compiling may be refused with any exception, also where the eager call raises it.
    failing = [kernels.NextScale] if state == "compiled" else [kernels.NextScale, kernels.Raises]
    for kernel in (*failing, stateful.Refuses):
        plain, record = judged(kernel, ""), judged(kernel, state)

        assert plain.verdict == ("failed" if kernel in failing else "rejected")
        assert (record.verdict, record.reason) == (plain.verdict, plain.reason)
        assert record.detail.removeprefix("after a call with every line padded: ") == plain.detail


@pytest.mark.parametrize("state", ON_GPU)
def test_a_state_of_gpus_is_asked_of_no_other_device(state: str) -> None:
    record = judged(kernels.Reversed, state)

    assert (record.verdict, record.reason) == ("unsupported", f"state/{state} needs a GPU, and the device is a CPU")


@pytest.mark.parametrize("state", [state for state in ON_GPU if state != "compiled-autotune"])
def test_streams_and_graphs_are_asked_of_no_other_gpu_than_those_that_have_them(state: str) -> None:
    record = judged(kernels.Reversed, state, platform=Platform("xpu", "", torch.__version__))

    assert (record.verdict, record.reason) == ("unsupported", f"state/{state} needs CUDA or ROCm, not cpu")


WRONG: list[tuple[Make, str, str, str]] = [
    (stateful.WrongInCall, "repeat", "results-differ", "call 7 of {}, one of 1 in {} that differ: 1 of 720 elements"),
    (stateful.RaisesInCallSeven, "repeat", "raised", "in calls 2 to {}: RuntimeError: out of slots"),
    (stateful.RefusesInCallSeven, "repeat", "raised", "in calls 2 to {}: NotImplementedError: no tile"),
    (stateful.ShortInCallSeven, "repeat", "wrong-shape", "in calls 2 to {}: the result has shape (4, 144)"),
    (stateful.WritesOperandInCallSeven, "repeat", "memory-changed", "bytes of As were overwritten"),
    (stateful.RoundsAsFirst, "interleaved", "wrong-values", "in between, as fp16: "),
    (stateful.DirtyScratch, "interleaved", "results-differ", "after 1x128-128x128/m8-n144-k400/bf16: "),
    (stateful.WritesOperandInCallSeven, "interleaved", "memory-changed", "/fp32: 2 bytes of As were overwritten"),
    (stateful.OneBufferWrongInCallSeven, "interleaved", "results-differ", "after 1x128-128x128/m5-n144-k400/fp32: "),
    (stateful.RingOfThree, "churn", "results-differ", "the result of round 1, kept to the end: "),
    (stateful.ResultByShape, "churn", "wrong-values", "with other contents: "),
    (stateful.OneBuffer, "kept-results", "results-shared", "the results of calls 2 and 3 lie in the same memory"),
    (stateful.RingOfThree, "kept-results", "results-shared", "the results of calls 2 and 5 lie in the same memory"),
    (stateful.WritesOldResult, "kept-results", "results-shared", "the result of call 2 was changed by a later one"),
    (stateful.ResultByShape, "kept-results", "wrong-values", "with other contents: "),
    (stateful.ScalesByPointer, "same-pointers", "wrong-values", "with other data and scales behind the same pointers"),
    (stateful.CodesByPointer, "same-pointers", "wrong-values", "with other data and scales behind the same pointers"),
    (stateful.ScalesByCodes, "same-pointers", "wrong-values", "with other scales alone behind the same pointers"),
    (stateful.CodesByScales, "same-pointers", "wrong-values", "with other data alone behind the same pointers"),
    (stateful.StridesByShape, "restrided", "wrong-values", "after a call with every line padded: "),
    (stateful.ColumnMajorForEver, "restrided", "wrong-values", "after a call laid out as a-column-major: "),
    (stateful.WrongAboveSixteen, "batch-invariance", "wrong-values", "with M=17: 144 of 2448 elements"),
    (compiled.WrongCompiled, "compiled", "results-differ", "compiled: "),
    (compiled.KeepsScalesCompiled, "compiled", "results-differ", "compiled, with other contents: "),
    (compiled.OwesCompiled, "compiled", "raised", "eager computes, compiled it raises TypeError: no shape while"),
]


@on_every_device
@pytest.mark.parametrize(("kernel", "state", "reason", "said"), WRONG)
def test_what_one_plain_call_does_not_show_fails(
    kernel: Make, state: str, reason: str, said: str, device: torch.device
) -> None:
    plain, record = judged(kernel, "", device=device), judged(kernel, state, device=device)

    assert (plain.verdict, plain.detail) == ("passed", "")
    assert (record.verdict, record.reason) == ("failed", reason), record.detail
    count = 64 if device == CPU else 1000
    assert said.format(count + 1, count) in record.detail


@on_every_device
@pytest.mark.parametrize("kernel", [stateful.RefusesPadded, stateful.IgnoresStrides])
def test_what_a_layout_does_alone_is_none_of_the_next_call(kernel: Make, device: torch.device) -> None:
    record = judged(kernel, "restrided", device=device)

    assert (record.verdict, record.detail) == ("passed", "")


@on_every_device
def test_what_is_kept_by_an_address_fails_as_soon_as_others_have_it(device: torch.device) -> None:
    kernel = stateful.ScalesByRecycledPointer
    assert judged(kernel, "", device=device).verdict == "passed"
    assert judged(kernel, "same-pointers", device=device).verdict == "failed"

    # When an allocator hands an address out again is its own affair: a CPU's may let it be for a whole case.
    records = (judged(kernel, "churn", device=device) for _ in range(5))
    record = next(record for record in records if record.verdict == "failed")
    assert record.reason in ("wrong-values", "results-differ")
    assert record.detail.startswith(("with other contents: ", "in round "))


@pytest.mark.parametrize(
    ("number", "label"),
    [
        (2, "in the memory of the next calls"),
        (3, "with other data and scales behind the same pointers"),
        (4, "with other scales alone behind the same pointers"),
        (5, "with other data alone behind the same pointers"),
        (6, "with the first data and scales again behind the same pointers"),
    ],
)
def test_every_content_behind_the_same_pointers_is_judged(number: int, label: str) -> None:
    record = judged(lambda: stateful.WrongInCall(number), "same-pointers")

    assert (record.verdict, record.reason) == ("failed", "wrong-values")
    assert record.detail.startswith(f"{label}: 1 of 720 elements")


@pytest.mark.parametrize(
    ("kernel", "shape", "calls"),
    [
        (stateful.Counting, "m5-n144-k400", 64),
        (stateful.CountingModel, "m5-n144-k400", 16),
        (stateful.Counting, "m64-n256-k1024", 16),
        (stateful.Counting, "m256-n512-k1024", 4),
    ],
)
def test_a_call_is_repeated_as_often_as_its_size_allows(kernel: type, shape: str, calls: int) -> None:
    subject = kernel()

    record = judged(lambda: subject, "repeat", problem=f"1x128-128x128/{shape}")

    assert (record.verdict, record.holds) == ("passed", True)
    assert subject.calls == 1 + calls


REPEATING = ["repeat", "interleaved", "churn", "kept-results"]


@pytest.mark.parametrize("kernel", [stateful.OrderVaries, stateful.AdmittedOrderVaries])
@pytest.mark.parametrize("state", REPEATING)
def test_right_results_that_vary_pass_where_nobody_declared_that_they_do_not(state: str, kernel: type) -> None:
    exact, bound = (judged(kernel, state, out="fp32", values=values) for values in (EXACT, BOUND))

    assert (exact.verdict, exact.holds, exact.detail) == ("passed", True, "")
    assert (bound.verdict, bound.holds) == ("passed", False)
    assert "elements have other bits, the first at (" in bound.detail
    assert bound.detail.endswith("; every result is right in itself")


@pytest.mark.parametrize("kernel", [stateful.DeclaredOrderVaries, stateful.ClaimedOrderVaries])
@pytest.mark.parametrize("state", REPEATING)
def test_right_results_that_vary_fail_where_they_are_declared_not_to(state: str, kernel: type) -> None:
    plain, record = (judged(kernel, scenario, out="fp32", values=BOUND) for scenario in ("", state))

    assert plain.verdict == "passed"
    assert (record.verdict, record.reason, record.holds) == ("failed", "results-differ", False)
    assert "elements have other bits, the first at (" in record.detail


def test_a_wrong_result_is_found_among_many_that_vary_rightly() -> None:
    plain, record = (judged(stateful.OnceWrongAmongVarying, s, out="fp32", values=BOUND) for s in ("", "repeat"))

    assert plain.verdict == "passed"
    assert (record.verdict, record.reason) == ("failed", "results-differ")
    assert record.detail.startswith("call 30 of 65, one of 21 in 64 that differ: ")


def test_other_products_in_between_may_be_refused_and_are_not_judged() -> None:
    for kernel in (stateful.RefusesOneRow, stateful.WrongAboveSixteen):
        record = judged(kernel, "interleaved")

        assert (record.verdict, record.holds) == ("passed", True), record.detail


def test_results_may_be_parts_of_one_buffer_that_each_has_for_itself() -> None:
    record = judged(stateful.Pool, "kept-results")

    assert (record.verdict, record.holds) == ("passed", True), record.detail


def test_whether_rows_depend_on_those_beside_them_is_reported() -> None:
    exact, bound = (judged(stateful.SplitBySize, "batch-invariance", out="fp32", values=v) for v in (EXACT, BOUND))

    assert (exact.verdict, exact.holds) == ("passed", True)
    assert exact.detail == "batch-invariant over M = 1, 2, 3, 4, 5, 8, 16, 17, 64"
    assert (bound.verdict, bound.holds) == ("passed", False)
    assert bound.detail == "row 0 differs between M=5 and M=1"


def test_rows_that_depend_on_those_beside_them_fail_where_they_are_declared_not_to() -> None:
    plain, record = (
        judged(stateful.DeclaredSplitBySize, state, out="fp32", values=BOUND) for state in ("", "batch-invariance")
    )

    assert plain.verdict == "passed"
    assert (record.verdict, record.reason, record.holds) == ("failed", "results-differ", False)
    assert record.detail == "row 0 differs between M=5 and M=1"


def test_a_row_that_depends_on_its_own_place_differs_where_it_is_alone() -> None:
    record = judged(stateful.OrderByPlace, "batch-invariance", out="fp32", values=BOUND)

    assert (record.verdict, record.holds) == ("passed", False)
    assert record.detail == "row 2 differs between M=5 and row 2 alone"


@pytest.mark.parametrize("kernel", [stateful.RefusesOneRow, stateful.DeclinesOneRow])
def test_numbers_of_rows_that_are_refused_are_left_out_and_named(kernel: type) -> None:
    record = judged(kernel, "batch-invariance")

    assert (record.verdict, record.holds) == ("passed", True)
    assert record.detail == "batch-invariant over M = 2, 3, 4, 5, 8, 16, 17, 64; M=1, row 2 alone, row 4 alone refused"


def test_another_right_result_when_compiled_is_reported() -> None:
    exact, bound = (judged(compiled.OtherOrderCompiled, "compiled", out="fp32", values=v) for v in (EXACT, BOUND))

    assert (exact.verdict, exact.holds, exact.detail) == ("passed", True, "")
    assert (bound.verdict, bound.holds) == ("passed", False)
    assert bound.detail.startswith("compiled: ")
    assert bound.detail.endswith("; every result is right in itself")


@pytest.mark.parametrize(
    ("kernel", "verdict", "reason", "detail"),
    [
        (
            compiled.RefusesCompiled,
            "rejected",
            "",
            "eager computes, compiled it raises TypeError: no shape while compiling",
        ),
        (
            compiled.RefusesInOtherWords,
            "rejected",
            "",
            "eager raises NotImplementedError: no tile for this shape, "
            "compiled it raises TypeError: no shape while compiling",
        ),
        (
            compiled.OwesOneRefusal,
            "failed",
            "raised",
            "eager raises NotImplementedError: no tile for this shape, "
            "compiled it raises TypeError: no shape while compiling",
        ),
        (
            compiled.ComputesCompiledOnly,
            "passed",
            "",
            "eager raises NotImplementedError: eager is not implemented, compiled it computes",
        ),
    ],
)
def test_a_refusal_by_one_of_eager_and_compiled_is_told(kernel: type, verdict: str, reason: str, detail: str) -> None:
    record = judged(kernel, "compiled")

    assert (record.verdict, record.reason, record.detail, record.holds) == (verdict, reason, detail, False)


def test_an_exception_that_a_compiler_wraps_is_the_one_that_was_raised() -> None:
    raised, other = TypeError("no shape"), RuntimeError("out of slots")
    wrapped = RuntimeError("Dynamo failed to run FX node with fake tensors: got TypeError")
    wrapped.__cause__ = other.__cause__ = raised

    assert compiling.innermost(wrapped) is compiling.innermost(raised) is raised
    assert compiling.innermost(other) is other


def test_where_nothing_can_be_compiled_the_reason_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "COMPILER", "no-such-compiler")

    record = judged(compiled.WrongCompiled, "compiled")

    assert (record.verdict, record.detail) == ("unsupported", "")
    assert record.reason.startswith("torch.compile does not work here (InvalidBackend: ")
    assert "no-such-compiler" in record.reason
