"""Results too large to be compared at once, and devices too small to hold them."""

from __future__ import annotations

from dataclasses import replace

import kernels
import pytest
import torch
from torch import Tensor

from cases import Case, parse_case
from cases.operands import build_operands
from conformance import room, strips
from conformance.backends.protocol import Backend
from conformance.execute import Assignment, run_case
from conformance.measure import measure_exact
from conformance.probe import Platform
from conformance.strips import measure_in_strips
from conformance.verdict import CaseRecord
from reference import exact_block_matmul

PLATFORM = Platform("cpu", "x86_64", torch.__version__)
WIDE, TALL = "m131-n700-k144", "m700-n144-k272"
RECIPES = ["1x128-128x128", "1x128-1x128", "128x128-1x128"]


@pytest.fixture
def _small_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strips, "AT_ONCE", 1 << 15)


@pytest.mark.usefixtures("_small_strips")
@pytest.mark.parametrize("shape", [WIDE, TALL])
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("wrong", [(), ((0, 0),), ((130, 143),), ((3, 1), (129, 2), (130, 140))])
def test_strips_measure_what_the_whole_does(recipe: str, shape: str, wrong: tuple[tuple[int, int], ...]) -> None:
    case = parse_case(f"gemm/{recipe}/{shape}/bf16/tagged-integers/s0")
    operands = build_operands(case)
    exact = exact_block_matmul(*operands.tensors, recipe=recipe)
    out = exact.to(torch.bfloat16)
    for i, place in enumerate(wrong):
        out[place] = out[place] * 2 + 1 + i if i else torch.nan

    assert measure_in_strips(out, operands, recipe) == measure_exact(out, exact, None)


@pytest.mark.usefixtures("_small_strips")
@pytest.mark.parametrize("shape", [WIDE, TALL])
def test_verdicts_are_the_same_in_strips(shape: str) -> None:
    case = parse_case(f"gemm/1x128-128x128/{shape}/fp32/tagged-integers/s1")

    assert strips.needs_strips(case)
    assert judged(kernels.Reversed(), case).verdict == "passed"
    assert judged(LastWrong(), case).reason == "wrong-values"


class LastWrong(kernels.Reversed):
    """The last element of the result is another one."""

    name = "last-wrong"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        out = super().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)
        out[-1, -1] += 1
        return out


class OutOfMemory:
    """Needs more than there is."""

    name = "out-of-memory"

    def apply_block_scaled_mm(self, A: Tensor, B: Tensor, As: Tensor, Bs: Tensor, *, out_dtype: torch.dtype) -> Tensor:
        raise torch.OutOfMemoryError("tried to allocate 64.00 GiB")


HUGE = parse_case("gemm/1x128-128x128/m46341-n46368-k128/bf16/tagged-integers/s0")


@pytest.mark.parametrize(("free", "runs"), [(1 << 30, False), (80 << 30, True), (None, True)])
def test_the_largest_cases_are_left_out_where_memory_is_short(
    free: int | None, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_free", lambda device: free)
    reason = room.why_no_room(HUGE.problem, torch.device("cpu"))

    assert reason == (None if runs else "it takes about 32 GiB of memory, and 1 GiB are free on cpu")
    if not runs:
        record = judged(kernels.Reversed(), HUGE)
        assert (record.verdict, record.reason) == ("unsupported", reason)


def test_free_memory_of_this_machine_is_known() -> None:
    free = room._free(torch.device("cpu"))

    assert free is None or 1 << 24 < free < 1 << 50


def test_only_the_largest_cases_may_run_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    small = parse_case("gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0")

    assert judged(OutOfMemory(), small).reason == "raised"
    monkeypatch.setattr(Case, "is_huge", True)
    record = judged(OutOfMemory(), replace(small, seed=1))
    assert (record.verdict, record.detail) == ("rejected", "OutOfMemoryError: tried to allocate 64.00 GiB")


def judged(subject: object, case: Case) -> CaseRecord:
    backend = Backend(subject, spec="test")
    return run_case(Assignment.of(case, backend, PLATFORM), seed=0, device=torch.device("cpu"))
