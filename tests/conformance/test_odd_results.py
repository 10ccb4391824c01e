"""Whatever a kernel gives back or raises is its own failure, on every path, and never the harness's."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings

import pytest
import torch
from kernels import Reversed
from odd_kernels import RAISED, RETURNED, RIGHT, Spoil, by_way_of_meta, odd

from cases import Case, parse_case, plan
from cases.strategies import Batch
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.backends.subjects import Function
from conformance.deviations.ledger import Ledger
from conformance.execute import run_case
from conformance.foreign import attempt, error_line, shortly
from conformance.generated import Drawing, run_batch
from conformance.probe import Platform
from conformance.verdict import CaseRecord

PLATFORM, CPU = Platform("cpu", "x86_64", torch.__version__), torch.device("cpu")
SMALL = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
CHANGED = ("state", "relation")
ODD: dict[str, Spoil] = {**{name: spoil for name, (_, spoil) in RETURNED.items()}, **RAISED, **RIGHT}


def backend_of(spoil: Spoil, after: int = 0) -> Backend:
    return Backend(Function(odd(spoil, after=after), name="odd"), spec="odd")


def judged(spoil: Spoil, case: str | Case = SMALL, after: int = 0) -> CaseRecord:
    case = parse_case(case) if isinstance(case, str) else case
    return run_case(Assignment.of(case, backend_of(spoil, after), PLATFORM), seed=0, device=CPU)


@pytest.fixture(scope="module")
def paths() -> list[Case]:
    """A small case of every scenario that a CPU can carry out, but for those that compile."""
    found: dict[str, Case] = {}
    for case in plan("quick"):
        is_ours = case.problem.recipe == "1x128-128x128" and case.problem.macs < 1e6
        if is_ours and case.scenario.kind != "rule" and not case.scenario.needs_gpu:
            found.setdefault(case.scenario.prefix, case)
    return [case for prefix, case in found.items() if "compiled" not in prefix]


@pytest.mark.parametrize("name", RETURNED)
def test_what_came_has_its_reason_and_a_sentence_that_says_what_to_return(name: str) -> None:
    reason, spoil = RETURNED[name]
    record = judged(spoil)

    assert (record.verdict, record.reason) == ("failed", reason)
    if reason.startswith("wrong-") and name not in ("meta", "quantised", "nan"):
        assert record.detail.startswith("the result ")
        assert " not " in record.detail
    elif reason not in ("wrong-values", "elements-shared"):
        assert record.detail.endswith("one plain tensor [5, 144] of torch.bfloat16 on cpu")


def test_nan_everywhere_is_a_cause_of_its_own() -> None:
    record, other = judged(RETURNED["nan"][1]), judged(lambda out: -out)

    assert (record.shape, record.where) == ("all-nan", "every element")
    assert other.shape != "all-nan"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("exit", "SystemExit: 3"),
        ("interrupt", "KeyboardInterrupt: (no text) odd_kernels.py:"),
        ("unwilling", "RuntimeError: an exception of class Unwilling, whose text cannot be read (KeyError)"),
        ("assertion", ": assert out.is_cuda"),
    ],
)
def test_what_was_raised_is_said_whatever_its_class(name: str, said: str) -> None:
    record = judged(RAISED[name])

    assert (record.verdict, record.reason) == ("failed", "raised")
    assert said in record.detail


def test_a_way_that_torch_does_not_implement_counts_as_a_refusal() -> None:
    record = judged(by_way_of_meta)

    assert (record.verdict, record.reason) == ("rejected", "")
    assert record.detail.startswith("NotImplementedError: Cannot copy out of meta tensor")


@pytest.mark.parametrize("name", RIGHT)
def test_what_a_right_kernel_does_beside_is_not_held_against_it(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record = judged(RIGHT[name])

    assert (record.verdict, record.detail) == ("passed", "")
    assert capsys.readouterr().out == "", "what a kernel prints is no result"


@pytest.mark.parametrize("name", sorted(ODD.keys() - {"nan"}))
def test_no_path_breaks_the_harness(name: str, paths: list[Case]) -> None:
    records = [
        judged(ODD[name], case, after)
        for case in paths
        for after in ((1, 2) if case.scenario.kind in CHANGED else (0,))
    ]

    # Malformed operands that the kernel takes for others are another matter.
    verdicts = {record.verdict for record in records if not record.id.startswith("malformed/")}
    assert "error" not in verdicts
    assert ("failed" in verdicts) == (name not in RIGHT)


@pytest.mark.parametrize("name", ["none", "coo", "exit", "prints"])
def test_a_batch_of_generated_cases_fails_as_a_plain_one(name: str) -> None:
    record = run_batch(Drawing(Batch(0), backend_of(ODD[name]), PLATFORM), Ledger(), seed=0, device=CPU)

    assert (record.verdict, record.reason) == (judged(ODD[name]).verdict, judged(ODD[name]).reason)


def test_a_compiled_call_fails_as_an_eager_one() -> None:
    record = judged(ODD["coo"], SMALL.replace("gemm", "state/compiled"), after=1)

    assert (record.verdict, record.reason) == ("failed", "not-strided")


class ForgetsToAnswer(Reversed):
    """Answers for the planned problems, and for none with another K, which it is asked for in the run."""

    def can_implement(self, problem: object) -> object:
        if getattr(problem, "k", 0) != 400:
            raise LookupError("no table for this K")
        return True, None


def test_an_answer_that_fails_in_the_run_is_the_backends_failure() -> None:
    backend = Backend(ForgetsToAnswer(), spec="forgets")
    case = parse_case(SMALL.replace("gemm", "state/interleaved"))
    record = run_case(Assignment.of(case, backend, PLATFORM), seed=0, device=CPU)
    drawn = run_batch(Drawing(Batch(0), backend, PLATFORM), Ledger(), seed=0, device=CPU)

    said = "backend 'forgets': can_implement fails (LookupError: no table for this K)"
    assert (record.verdict, record.reason, record.detail) == ("failed", "raised", said)
    assert (drawn.verdict, drawn.reason) == ("failed", "raised")
    assert drawn.detail.endswith(said)


# Who ends a run


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("swallows", [False, True])
def test_a_signal_ends_the_run_even_if_a_kernel_swallows_it(number: signal.Signals, swallows: bool) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def kernel() -> None:
        try:
            os.kill(os.getpid(), number)
        except KeyboardInterrupt:
            if not swallows:
                raise

    before = signal.signal(number, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            attempt(kernel)
        assert signal.getsignal(number) is interrupt
    finally:
        signal.signal(number, before)


def test_a_signal_that_ends_nothing_ends_nothing_here() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGHUP, lambda number, frame: heard.append(number))
    try:
        done = attempt(lambda: os.kill(os.getpid(), signal.SIGHUP))
    finally:
        signal.signal(signal.SIGHUP, before)

    assert (done.error, heard) == (None, [signal.SIGHUP])


@pytest.mark.parametrize("error", [KeyboardInterrupt("by hand"), SystemExit(0), GeneratorExit(), ValueError("no")])
def test_what_code_raises_itself_ends_nothing(error: BaseException) -> None:
    def kernel() -> None:
        raise error

    assert attempt(kernel).error is error


def test_attempts_work_in_threads_whose_signals_are_anothers() -> None:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(attempt(lambda: sys.exit(3)).error))
    thread.start()
    thread.join()

    assert isinstance(found[0], SystemExit)


def test_exceptions_and_things_are_told_in_one_line() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise ValueError

    assert error_line(ValueError("one\ntwo")) == "ValueError: one"
    assert error_line(ValueError()) == "ValueError: (no text)"
    assert shortly(Shy()) == "a Shy"
    assert shortly(torch.zeros(2, 2)) == "tensor([[0., 0.], [0., 0.]])"
    assert len(shortly("x" * 200)) == 80
