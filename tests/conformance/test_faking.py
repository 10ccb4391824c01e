"""The state `fake`: what a kernel says to fake operands is what it does with real ones."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable

import faked_kernels as faked
import kernels
import pytest
import stateful_kernels as stateful
import torch
from torch._functorch import config as tracing
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from cases import Case, parse_case
from conformance.assignment import Assignment
from conformance.backends.models import EmulatedSM90
from conformance.backends.protocol import Backend
from conformance.backends.torch_v1 import TorchV1
from conformance.backends.torch_v2 import TorchV2
from conformance.contract import Compute, Refuse
from conformance.deviations.entry import Machine
from conformance.deviations.ledger import Ledger
from conformance.evidence import evidence_for
from conformance.execute import run_case
from conformance.faults import HONEST
from conformance.faults.trying import kills
from conformance.probe import probe
from conformance.request import Request
from conformance.scenarios import compiling
from conformance.session import Session
from conformance.verdict import CaseRecord
from conformance.versions import in_range

CPU = torch.device("cpu")
RAGGED, WHOLE = "m5-n144-k400", "m64-n256-k512"
Make = Callable[[], object]


def case_of(shape: str, out: str = "bf16") -> Case:
    """The case ``state/fake`` of ``shape``."""
    return parse_case(f"state/fake/1x128-128x128/{shape}/{out}/tagged-integers/s0")


def assigned(make: Make, shape: str = RAGGED, *, out: str = "bf16") -> Assignment:
    """The same for a fresh kernel."""
    return Assignment.of(case_of(shape, out), Backend(make(), spec="test"), probe(CPU))


def judged(make: Make, shape: str = RAGGED, *, out: str = "bf16") -> CaseRecord:
    """The record of a fresh kernel in the state ``fake``."""
    return run_case(assigned(make, shape, out=out), seed=0, device=CPU)


@pytest.mark.parametrize("kernel", [kernels.Reversed, kernels.DequantiseFirst, faked.OtherwiseFaked, faked.Padded])
@pytest.mark.parametrize("out", ["fp32", "bf16", "fp16"])
def test_kernels_that_say_what_they_do_pass(kernel: Make, out: str) -> None:
    record = judged(kernel, out=out)

    assert (record.verdict, record.reason, record.detail, record.holds) == ("passed", "", "", True)
    assert record.computed


@pytest.mark.parametrize("name", HONEST)
def test_right_kernels_of_every_kind_pass(name: str) -> None:
    record = judged(HONEST[name].build, WHOLE)

    assert (record.verdict, record.detail, record.holds) == ("passed", "", True)


@pytest.mark.parametrize(
    ("kernel", "fake"),
    [
        (faked.OtherShape, "[10, 144] bfloat16, strides (144, 1), on cpu"),
        (faked.OtherDtype, "[5, 144] float32, strides (144, 1), on cpu"),
        (faked.OtherStrides, "[5, 144] bfloat16, strides (1, 5), on cpu"),
        (faked.OtherDevice, "[5, 144] bfloat16, strides (144, 1), on meta"),
        (faked.NoTensor, "a NoneType, not a tensor"),
    ],
)
def test_a_fake_result_of_another_form_fails_and_both_forms_are_told(kernel: Make, fake: str) -> None:
    record = judged(kernel)

    assert (record.verdict, record.reason) == ("failed", "fake-differs")
    assert record.detail == f"eager gives [5, 144] bfloat16, strides (144, 1), on cpu, fake gives {fake}"


@pytest.mark.parametrize("shape", ["m1-n16-k128", "m1-n144-k400", "m0-n144-k400"])
def test_strides_of_one_row_and_of_none_say_nothing(shape: str) -> None:
    record = judged(faked.OtherStrides, shape)

    assert (record.verdict, record.detail, record.holds) == ("passed", "", True)


def test_a_kernel_that_refuses_and_whose_fake_one_computes_fails() -> None:
    record = judged(faked.AcceptsFaked)

    assert (record.verdict, record.reason) == ("failed", "fake-differs")
    assert record.detail == "eager raises NotImplementedError: no tile for this shape, fake gives [5, 144] bfloat16"


def test_a_kernel_that_refuses_both_has_refused() -> None:
    record = judged(stateful.Refuses)

    assert (record.verdict, record.reason) == ("rejected", "")
    assert record.detail == "NotImplementedError: no tile for this shape"


@pytest.mark.parametrize("kernel", [kernels.NextScale, faked.WrongAndOtherwiseFaked, kernels.Raises])
def test_what_is_wrong_eagerly_is_told_as_that(kernel: Make) -> None:
    record = judged(kernel)

    assert (record.verdict, record.holds) == ("failed", None)
    assert record.reason == ("raised" if kernel is kernels.Raises else "wrong-values")


@pytest.mark.parametrize("kernel", [faked.ReadsValues, faked.ModelThatReadsValues, faked.FollowsPointers])
def test_a_kernel_that_cannot_be_traced_and_never_said_so_may_refuse(kernel: Make) -> None:
    record = judged(kernel)

    assert (record.verdict, record.reason, record.holds) == ("rejected", "", False)
    assert record.detail.startswith("eager gives [5, 144] bfloat16, fake raises ")


def test_a_kernel_that_declares_to_be_compiled_may_not() -> None:
    record = judged(faked.OwesTracing)

    assert (record.verdict, record.reason) == ("failed", "fake-differs")
    assert "fake raises DataDependentOutputException: " in record.detail


@pytest.mark.parametrize("kernel", [faked.Workspace, faked.CompiledInside])
def test_what_a_trace_looks_through_is_looked_through_here(kernel: Make) -> None:
    record = judged(kernel)

    assert (record.verdict, record.detail, record.holds) == ("passed", "", True)


def test_the_bit_model_is_not_asked() -> None:
    record = judged(EmulatedSM90)

    assert (record.verdict, record.reason) == ("unsupported", "emulated-sm90 declares no compile")


def test_nothing_fake_and_no_setting_is_left_behind(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logging.getLogger("torch._subclasses.fake_tensor")
    monkeypatch.setattr(log, "disabled", False)
    before = log.disabled, tracing.fake_tensor_allow_unsafe_data_ptr_access, warnings.filters[:]
    assignment = assigned(TorchV2)

    run_case(assignment, seed=0, device=CPU)

    assert (log.disabled, tracing.fake_tensor_allow_unsafe_data_ptr_access, warnings.filters) == before
    assert not _get_current_dispatch_mode_stack()
    assert not caplog.records
    operands = evidence_for(assignment.case, seed=0, device=CPU).operands
    assert {type(x) for x in operands.tensors} == {torch.Tensor}


MEASURED = ">=2.9.1,<=2.14.1"
SHAPES = (RAGGED, WHOLE, "m83-n576-k1024", "m130-n256-k400", "m5-n16-k128", "m33-n384-k640")
REFUSAL = "ValueError: Invalid" if in_range(torch.__version__, ">=2.12") else "RuntimeError: (scale_a.numel() == 1"
measured = pytest.mark.skipif(
    not in_range(torch.__version__, MEASURED),
    reason=f"nobody has measured the fake kernels of torch {torch.__version__}",
)


@measured
@pytest.mark.parametrize("shape", SHAPES)
def test_the_fake_kernel_of_v1_takes_every_block_scale_on_a_cpu(shape: str) -> None:
    record = judged(TorchV1, shape)

    m, n, _ = (size[1:] for size in shape.split("-"))
    assert (record.verdict, record.reason) == ("failed", "fake-differs")
    assert record.detail.startswith(f"eager raises {REFUSAL}")
    assert record.detail.endswith(f", fake gives [{m}, {n}] bfloat16")


@measured
@pytest.mark.parametrize("shape", SHAPES)
def test_the_fake_kernel_of_v2_takes_every_one_but_in_2_12_and_2_13_whole_blocks_alone(shape: str) -> None:
    taken = shape in (WHOLE, "m33-n384-k640") or not in_range(torch.__version__, ">=2.12,<2.14")

    record = judged(TorchV2, shape)

    if in_range(torch.__version__, "<2.10"):
        assert record.verdict == "unsupported"
    else:
        assert (record.verdict, record.reason) == (("failed", "fake-differs") if taken else ("rejected", ""))


@measured
@pytest.mark.parametrize("make", [TorchV1, TorchV2])
@pytest.mark.parametrize("shape", [*SHAPES, "m1-n128-k128", "m1-n256-k512", "m1-n144-k400"])
def test_the_ledger_knows_what_differs_and_covers_nothing_that_agrees(make: Make, shape: str) -> None:
    assignment = assigned(make, shape)
    case, ledger = assignment.case, Ledger.open((), Machine(probe(CPU)))

    record = run_case(assignment, seed=0, device=CPU)

    covering = [entry for entry in ledger.entries if entry.covers(case, assignment.backend.name)]
    if record.verdict == "failed":
        assert ledger.settle(case, record).verdict == "known-deviation", record.detail
    else:
        assert not covering or (record.verdict == "passed" and not any(entry.demands(case) for entry in covering))


def test_a_refusal_is_compared_once_for_each_problem_beside_the_plain_one() -> None:
    session = Session.open(Request(backends=("torch-v1",), device="cpu", profile="standard"))

    blocks = [a for a in session.assignments if not a.case.problem.has_whole_scales]
    asked = [a for a in blocks if a.case.scenario.name == "fake"]
    problems = {a.case.problem for a in asked}

    assert len(asked) == len(problems) == 6
    assert all(isinstance(a.promise, Refuse) for a in asked)
    # One that is asked for with fake operands first is no reason to leave the plain refusal out.
    plain = {a.case.problem for a in blocks if a.case.scenario.kind == "gemm"}
    assert plain & problems


def test_what_a_plain_call_owes_is_owed_whether_compile_is_declared_or_not() -> None:
    assert isinstance(assigned(kernels.Reversed).promise, Compute)
    assert isinstance(assigned(TorchV1).promise, Refuse)


@pytest.mark.parametrize("name", ["fake-is-column-major", "fake-is-float32"])
def test_seeded_faults_show_on_fake_operands_and_nowhere_else(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Dynamo alone: the C++ that inductor builds takes most of a minute.
    monkeypatch.setattr(compiling, "COMPILER", "eager")
    rest = f"1x128-128x128/{RAGGED}/bf16/tagged-integers/s0"
    others = [f"{check}/{rest}" for check in ("gemm", "layout/as-padded", "state/repeat", "state/compiled")]

    assert kills([f"state/fake/{rest}"], [name], "cpu")[name].reason == "fake-differs"
    assert kills(others, [name], "cpu") == {}
