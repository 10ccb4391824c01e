"""What is global in a process: a call that changes it fails, and nothing of the change is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import changed_settings as settings
import kernels
import pytest
import stateful_kernels as stateful
import torch

from cases import parse_case
from conformance.backends.protocol import Backend
from conformance.execute import Assignment, run_case
from conformance.probe import probe
from conformance.verdict import CaseRecord

CPU = torch.device("cpu")
GPUS = [torch.device("cuda", 0)] if torch.cuda.is_available() else []
CASE = "1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"
on_every_device = pytest.mark.parametrize("device", [CPU, *GPUS], ids=str)
every_change = pytest.mark.parametrize("change", settings.CHANGES.values(), ids=settings.CHANGES)
Changes = dict[str, settings.Change]


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Put everything back whatever becomes of a test."""
    # Both tables have names of their own: what is watched on a GPU must not take the place of what the CPU has.
    changes = [*settings.CHANGES.values(), *(settings.CUDA_CHANGES.values() if GPUS else ())]
    before = [_value(change) for change in changes]
    yield
    # Twice, since some settings write others.
    for change, old in zip(changes * 2, before * 2, strict=True):
        if not _equal(_value(change), old):
            change.write(old)


def _values(changes: Changes) -> dict[str, Any]:
    return {name: _value(change) for name, change in changes.items()}


def _value(change: settings.Change) -> Any:
    try:
        return change.read()
    except RuntimeError:  # two interfaces of torch contradict each other
        return "unreadable"


def _equal(one: Any, other: Any) -> bool:
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else bool(one == other)


def _changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {name for name, value in before.items() if not _equal(value, after[name])}


def judged(subject: object, scenario: str = "state/surroundings", *, device: torch.device = CPU) -> CaseRecord:
    assignment = Assignment.of(parse_case(f"{scenario}/{CASE}"), Backend(subject, spec="test"), probe(device))
    return run_case(assignment, seed=0, device=device)


@on_every_device
@every_change
def test_a_change_is_told_and_nothing_of_it_is_left(change: settings.Change, device: torch.device) -> None:
    before = _values(settings.CHANGES)

    record = judged(settings.Changes(change.make), device=device)

    assert (record.verdict, record.reason) == ("failed", "surroundings-changed")
    assert record.detail.startswith("the call changed ")
    assert change.said in record.detail
    assert not _changed(before, _values(settings.CHANGES))


@every_change
def test_a_plain_call_passes_and_leaves_the_change(change: settings.Change) -> None:
    before = change.read()

    record = judged(settings.Changes(change.make), "gemm")

    assert (record.verdict, record.reason) == ("passed", "")
    assert not _equal(before, change.read())


def test_a_refusal_that_changes_something_is_a_failure() -> None:
    before = _values(settings.CHANGES)

    record = judged(settings.ChangesAndRefuses(settings.CHANGES["default-dtype"].make))

    assert (record.verdict, record.reason) == ("failed", "surroundings-changed")
    assert record.detail == "the call changed the default dtype from torch.float32 to torch.float64"
    assert not _changed(before, _values(settings.CHANGES))


def test_all_changes_are_told_in_one_sentence() -> None:
    def make() -> None:
        for name in ("grad", "draw", "cudnn.benchmark"):
            settings.CHANGES[name].make()

    record = judged(settings.Changes(make))

    assert record.detail == (
        "the call changed grad mode from True to False, the random state of the CPU, "
        "torch.backends.cudnn.benchmark from False to True"
    )


@on_every_device
def test_settings_of_its_own_that_a_kernel_puts_back_are_nobodys_business(device: torch.device) -> None:
    record = judged(settings.ChangesForItself(), device=device)

    assert (record.verdict, record.reason, record.computed) == ("passed", "", True)


def test_it_is_the_watched_call_that_is_judged() -> None:
    record = judged(stateful.WrongInCall(1))

    assert (record.verdict, record.reason) == ("failed", "wrong-values")


def test_settings_that_decide_others_are_put_back_with_them() -> None:
    torch.set_float32_matmul_precision("medium")
    before = _values(settings.CHANGES)

    record = judged(settings.Changes(lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "ieee")))

    assert (record.verdict, record.reason) == ("failed", "surroundings-changed")
    assert not _changed(before, _values(settings.CHANGES))


def test_where_settings_contradict_each_other_a_call_is_watched_all_the_same() -> None:
    torch.backends.cuda.matmul.fp32_precision = "tf32"
    before = _values(settings.CHANGES)
    assert before["cuda.matmul.allow_tf32"] == "unreadable"

    right = judged(kernels.Reversed())
    wrong = judged(settings.Changes(settings.CHANGES["grad"].make))
    resolving = judged(settings.Changes(lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "none")))

    assert (right.verdict, right.reason) == ("passed", "")
    assert (wrong.verdict, wrong.detail) == ("failed", "the call changed grad mode from True to False")
    assert "torch.backends.cuda.matmul.fp32_precision from tf32 to none" in resolving.detail
    assert not _changed(before, _values(settings.CHANGES))


if GPUS:

    @pytest.mark.parametrize("device", GPUS, ids=str)
    @pytest.mark.parametrize("change", settings.CUDA_CHANGES.values(), ids=settings.CUDA_CHANGES)
    def test_a_change_of_the_device_is_told_and_undone(change: settings.Change, device: torch.device) -> None:
        before = _values(settings.CUDA_CHANGES)

        record = judged(settings.Changes(change.make), device=device)

        assert (record.verdict, record.reason) == ("failed", "surroundings-changed")
        assert change.said in record.detail
        assert not _changed(before, _values(settings.CUDA_CHANGES))
