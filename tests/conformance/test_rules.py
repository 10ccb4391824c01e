"""The rules of torch's own APIs: what is owed where, and that each way of breaking one is found out and named."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
from hopper_calls import Hopper
from torch import Tensor

from cases import Case, Problem, parse_case
from cases.plan import sections
from cases.rules import RULES
from conformance.assignment import Assignment
from conformance.backends.models import Native
from conformance.backends.protocol import Backend
from conformance.backends.torch_v1 import TorchV1
from conformance.backends.torch_v2 import TorchV2
from conformance.causes import causes_of
from conformance.conclude import conclude
from conformance.contract import Absent, Compute, Refuse, RightOrRefused
from conformance.contract.rules import TABLE, promise_of_rule
from conformance.execute import run_case
from conformance.probe import Platform, probe
from conformance.request import Request
from conformance.scenarios.promptness import LONG, SHORT, waits_for_nothing
from conformance.scenarios.spoiling import SPOILS
from conformance.session import Session
from conformance.verdict import CaseRecord

CPU = torch.device("cpu")
HOPPER = Platform("cuda", "sm90", "2.11.0+cu130", "13.0")
SUBJECTS = {"v1": TorchV1, "v2": TorchV2}
CASES = [case for case in sections("standard")["rules"] if not case.scenario.needs_gpu]
PAIRS = [(api, case) for case in CASES for api in RULES[case.scenario.name].apis]


def case_of(rule: str) -> Case:
    return next(case for case in sections("quick")["rules"] if case.scenario.name == rule)


def owed(rule: str, api: str, platform: Platform) -> str:
    promise = promise_of_rule(rule, api, platform, case_of(rule).problem)
    match promise:
        case Refuse(refusals=refusals):
            return "/".join(refusal.label for refusal in refusals) or "any"
        case Compute():
            return "compute"
        case RightOrRefused():
            return "either"
        case _:
            return "absent"


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Callable[..., CaseRecord]:
    """The record of a case on one of torch's APIs, for which a stand-in answers on a described platform."""

    def run(api: str, case: Case, hopper: Hopper, platform: Platform = HOPPER) -> CaseRecord:
        monkeypatch.setattr(torch, "_scaled_mm", hopper.v1)
        monkeypatch.setattr(torch.nn.functional, "scaled_mm", hopper.v2)
        assignment = Assignment.of(case, Backend(SUBJECTS[api](), spec="test"), platform)
        return run_case(assignment, seed=0, device=CPU)

    return run


Judged = Callable[..., CaseRecord]

# The table


def test_every_rule_is_spoiled_planned_and_has_a_line_for_hopper() -> None:
    lines = {(rule, row.api) for row in TABLE if row.kind == "cuda" for rule in row.rules}

    assert set(SPOILS) == set(RULES) == {case.scenario.name for case in sections("quick")["rules"]}
    assert lines == {(rule.name, api) for rule in RULES.values() for api in rule.apis}
    assert all(row.api in RULES[rule].apis and row.source for row in TABLE for rule in row.rules)


@pytest.mark.parametrize(
    ("rule", "v1", "v2"),
    [
        ("m-unpadded", "E4", "E4"),
        ("n-unaligned", "N16", "N16"),
        ("k-unaligned", "K16", "K16"),
        ("k-ragged", "absent", "compute"),
        ("m-zero", "E0", "compute"),
        ("as-row-major", "E0", "sa"),
        ("bs-padded", "E0", "absent"),
        ("bs-unpadded", "absent", "sb"),
        ("scales-fp16", "E0", "E5"),
        ("a-e5m2", "compute", "E5"),
        ("both-e5m2", "e5m2", "e5m2"),
        ("out-fp64", "E4v", "E4v"),
        ("bias-right", "compute", "compute"),
        ("bias-fp32", "bias", "bias"),
        ("fast-accum", "E3b", "E3b"),
        ("b-row-major", "layout", "layout"),
        ("a-offset-8", "E4c", "E4c"),
        ("contraction-ignored", "absent", "compute"),
    ],
)
def test_what_is_owed_on_hopper(rule: str, v1: str, v2: str) -> None:
    assert [owed(rule, api, HOPPER) for api in ("v1", "v2")] == [v1, v2]


@pytest.mark.parametrize(
    ("described", "rule", "v1", "v2"),
    [
        (Platform("cuda", "sm90", "2.15.0", "13.2"), "contraction-ignored", "absent", "contraction"),
        (Platform("cuda", "sm90", "2.9.1+cu130", "13.0"), "bs-padded", "either", "absent"),
        (Platform("cuda", "sm90", "2.10.0+cu128", "12.8"), "fast-accum", "E3b/E3", "E3b/E2"),
        (Platform("cuda", "sm100", "2.11.0+cu130", "13.0"), "n-unaligned", "N16/E4", "N16/E1"),
        (Platform("cuda", "sm100", "2.11.0+cu130", "13.0"), "bias-right", "E4", "E1"),
        (Platform("cuda", "sm100", "2.11.0+cu130", "13.0"), "m-zero", "E0/E4", "either"),
        (Platform("cuda", "sm130", "2.20.0", "14.0"), "n-unaligned", "either", "either"),
        (Platform("rocm", "gfx942", "2.12.0", "7.0"), "n-unaligned", "any", "any"),
        (Platform("rocm", "gfx950", "2.12.0", "7.0"), "m-zero", "either", "either"),
        (Platform("xpu", "bmg", "2.11.0"), "as-row-major", "any", "any"),
        (Platform("xpu", "bmg", "2.13.0"), "fast-accum", "either", "either"),
        (Platform("xpu", "bmg", "2.13.0"), "out-fp8", "absent", "absent"),
        (Platform("xpu", "bmg", "2.11.0"), "out-fp8", "any", "any"),
        (Platform("mps", "arm64", "2.15.0"), "n-unaligned", "any", "any"),
        (Platform("cpu", "x86_64", "2.13.0"), "n-unaligned", "E8", "E8"),
        (Platform("cpu", "x86_64", "2.13.0"), "bias-short", "E8", "bias"),
        (Platform("cpu", "x86_64", "2.13.0"), "m-zero", "E8", "compute"),
        (Platform("cpu", "x86_64", "2.13.0"), "scale-on-cpu", "absent", "absent"),
        (Platform("cpu", "x86_64", "2.11.0"), "n-unaligned", "any", "any"),
        (Platform("cpu", "x86_64", "2.9.1"), "n-unaligned", "any", "absent"),
    ],
)
def test_what_is_owed_elsewhere(described: Platform, rule: str, v1: str, v2: str) -> None:
    assert [owed(rule, api, described) for api in ("v1", "v2")] == [v1, v2]


# The plan


def planned(*backends: str) -> dict[str, set[str]]:
    request = Request(backends=backends, device="cpu", profile="quick")
    found: dict[str, set[str]] = {name: set() for name in backends}
    for assignment in Session.open(request).assignments:
        if assignment.case.scenario.kind == "rule":
            found[assignment.backend.name].add(assignment.case.scenario.name)
    return found


def test_rules_are_planned_for_the_apis_that_have_them_and_for_no_other_kernel() -> None:
    found = planned("torch-v1", "torch-v2", "native")
    on_cpu = [rule for rule in RULES.values() if not rule.needs_gpu]

    assert found["native"] == set()
    for name, api in (("torch-v1", "v1"), ("torch-v2", "v2")):
        assert found[name] == {rule.name for rule in on_cpu if api in rule.apis}


def test_a_rule_that_is_asked_for_by_name_is_declined_with_the_reason() -> None:
    assignment = Assignment.of(case_of("fast-accum"), Backend(Native(), spec="test"), probe(CPU))

    assert assignment.promise == Absent("rule/fast-accum is about calls of torch's own APIs, and native is none")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rule/m-zero/1x128-128x128/m84-n256-k512/bf16/tagged-integers/s0", "it needs M to be 0"),
        ("rule/fast-accum/1x128-128x128/m83-n256-k512/bf16/tagged-integers/s0", "M a multiple of 4"),
        ("rule/bs-padded/1x128-128x128/m84-n256-k512/bf16/tagged-integers/s0", "K blocks in no multiple of 4"),
        ("rule/bias-right/1x128-128x128/m84-n256-k512/fp32/tagged-integers/s0", "results in bf16 and fp16"),
        ("rule/fast-accum/1x128-128x128/m84-n256-k512/bf16/uniform-codes/s0", "values whose products are exact"),
        ("rule/contraction-ignored/1x128-128x128/m84-n256-k512/bf16/tagged-integers/s0", "M to be N"),
    ],
)
def test_a_problem_that_cannot_show_a_rule_is_not_built(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_case(text)


# The verdicts


@pytest.mark.parametrize(("api", "case"), PAIRS, ids=lambda x: x if isinstance(x, str) else x.id)
def test_apis_that_keep_every_rule_are_right_or_refuse_as_is_known(judged: Judged, api: str, case: Case) -> None:
    record = judged(api, case, Hopper())

    verdicts = {"compute": ("passed",), "right or refused": ("passed", "rejected")}.get(record.expected, ("rejected",))
    assert record.verdict in verdicts, record.detail
    assert record.reason == ""


@pytest.mark.parametrize(("api", "case"), PAIRS, ids=lambda x: x if isinstance(x, str) else x.id)
def test_torch_keeps_them_here(api: str, case: Case) -> None:
    subject = Backend(SUBJECTS[api](), spec="test")
    record = run_case(Assignment.of(case, subject, probe(CPU)), seed=0, device=CPU)

    assert record.verdict in ("passed", "rejected", "unsupported"), record.detail
    assert record.reason == "" or record.verdict == "unsupported"


class _Lax(Hopper):
    """Refuses nothing that only cuBLASLt would."""

    def gemm(self, a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, dtype: Any, *more: Any) -> Tensor:
        return self.product(a, b, scale_a, scale_b, more[0]).to(dtype)


class _WritesFirst(Hopper):
    def gemm(self, a: Tensor, b: Tensor, scale_a: Tensor, *more: Any) -> Tensor:
        try:
            return super().gemm(a, b, scale_a, *more)
        except RuntimeError:
            scale_a.mul_(2)
            raise


class _WritesOut(Hopper):
    def v1(self, a: Tensor, b: Tensor, **more: Any) -> Tensor:
        if more.get("out") is not None:
            more["out"].zero_()
        return super().v1(a, b, **more)


class _IgnoresOut(Hopper):
    def v1(self, a: Tensor, b: Tensor, **more: Any) -> Tensor:
        return super().v1(a, b, **{**more, "out": None})


class _OtherClass(Hopper):
    def multiples(self, error: type[Exception], m: int, n: int, k: int) -> None:
        super().multiples(NotImplementedError, m, n, k)


class _OtherText(Hopper):
    def multiples(self, error: type[Exception], m: int, n: int, k: int) -> None:
        if n % 16:
            raise error(f"N must be a multiple of 16, got {n}")


class _DeviceError(Hopper):
    def multiples(self, error: type[Exception], m: int, n: int, k: int) -> None:
        if n % 16:
            raise error("CUDA error: an illegal memory access was encountered")


class _Sulks(Hopper):
    """Once it has refused, it computes something else."""

    refused = False

    def gemm(self, *arguments: Any) -> Tensor:
        try:
            return super().gemm(*arguments) + int(self.refused)
        except RuntimeError:
            self.refused = True
            raise


class _Breaks(Hopper):
    """Once it has refused, it does nothing else."""

    refused = False

    def gemm(self, *arguments: Any) -> Tensor:
        if self.refused:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        self.refused = True
        result = super().gemm(*arguments)
        self.refused = False
        return result


class _LosesBias(Hopper):
    def product(self, a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None) -> Tensor:
        return super().product(a, b, scale_a, scale_b, None)


class _ReadsPadding(Hopper):
    def v2(self, a: Tensor, b: Tensor, scale_a: Tensor, recipe_a: Any, scale_b: Tensor, *rest: Any, **more: Any) -> Any:
        out = super().v2(a, b, scale_a, recipe_a, scale_b, *rest, **more)
        return out + 0 * scale_b.sum().to(out.dtype)


class _IgnoresLeadingDimension(Hopper):
    def product(self, a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None) -> Tensor:
        dense = torch.as_strided(a, a.shape, (a.shape[1], 1))
        return super().product(dense, b, scale_a, scale_b, bias)


class _RefusesBias(Hopper):
    def bias_size(self, error: type[Exception], bias: Tensor | None, n: int) -> None:
        if bias is not None:
            raise error("Bias is not supported")


@pytest.mark.parametrize(
    ("make", "api", "rule", "verdict", "reason", "says"),
    [
        (_Lax, "v1", "out-fp64", "failed", "accepted", "a result came"),
        (_Lax, "v2", "m-unpadded", "failed", "accepted", "a result came"),
        (_WritesFirst, "v1", "m-unpadded", "failed", "memory-changed", "the argument scale_a was written to"),
        (_WritesFirst, "v2", "m-unpadded", "failed", "memory-changed", "the argument scale_a was written to"),
        (_WritesFirst, "v1", "fast-accum", "failed", "memory-changed", "bytes of As were overwritten"),
        (_WritesOut, "v1", "out-of-other-dtype", "failed", "memory-changed", "the argument out was written to"),
        (_WritesOut, "v1", "out-given", "passed", "", ""),
        (_IgnoresOut, "v1", "out-given", "failed", "out-not-used", "another tensor than `out`"),
        (_OtherClass, "v1", "n-unaligned", "failed", "wrong-refusal", "NotImplementedError"),
        (_OtherClass, "v2", "k-unaligned", "failed", "wrong-refusal", "NotImplementedError"),
        (_OtherText, "v1", "n-unaligned", "rejected", "contract-changed", "N must be a multiple of 16, got 248 came"),
        (_OtherText, "v2", "n-unaligned", "rejected", "contract-changed", "must be divisible by 16"),
        (_DeviceError, "v1", "n-unaligned", "failed", "wrong-refusal", "illegal memory access"),
        (_Sulks, "v1", "fast-accum", "failed", "later-call-changed", "after it"),
        (_Breaks, "v2", "fast-accum", "failed", "later-call-changed", "raises RuntimeError: CUDA error"),
        (_LosesBias, "v1", "bias-right", "failed", "wrong-values", "elements"),
        (_RefusesBias, "v2", "bias-right", "failed", "raised", "Bias is not supported"),
        (_ReadsPadding, "v2", "padding-nan", "failed", "wrong-values", "elements"),
        (_ReadsPadding, "v2", "padding-inf", "failed", "wrong-values", "elements"),
        (_IgnoresLeadingDimension, "v1", "a-rows-padded", "failed", "wrong-values", "elements"),
    ],
)
def test_what_breaks_a_rule_is_found_out(
    judged: Judged, make: type[Hopper], api: str, rule: str, verdict: str, reason: str, says: str
) -> None:
    record = judged(api, case_of(rule), make())

    assert (record.verdict, record.reason) == (verdict, reason), record.detail
    assert says in record.detail


def test_a_changed_text_is_counted_in_the_headline_and_fails_nothing(judged: Judged) -> None:
    # A spoiled call that is right shows no kernel at work, so that the plain product is said to be there.
    computed = {**judged("v1", case_of("bias-right"), Hopper()).to_json(), "computed": True}
    reworded = judged("v1", case_of("n-unaligned"), _OtherText()).to_json()

    once, twice = conclude([computed, reworded]), conclude([computed, reworded, reworded])

    assert (once.code, once.sentence) == (
        0,
        "CONFORMS: 1 passed, 1 rejected; the contract changed: 1 refusal has another text",
    )
    assert twice.sentence.endswith("2 refusals have another text")
    assert "contract" not in conclude([computed]).sentence


class _TakesAnything(Hopper):
    """Takes scales for what they are; its users may, where nobody has said what is owed."""

    def v1(self, a: Tensor, b: Tensor, *, scale_a: Tensor, scale_b: Tensor, out_dtype: Any, **more: Any) -> Tensor:
        blocks_of_rows = torch.arange(a.shape[0]) // 128
        by_row = scale_a.float() if scale_a.shape[0] == a.shape[0] else scale_a[blocks_of_rows]
        return self.product(a, b, by_row, scale_b.float(), more.get("bias")).to(out_dtype)


@pytest.mark.parametrize(
    "rule", ["scales-e8m0", "scales-bf16", "scales-fp64", "recipe-blocks-twice", "m-unpadded", "n-unaligned", "n-zero"]
)
def test_where_nothing_is_known_what_was_handed_over_is_what_is_judged(judged: Judged, rule: str) -> None:
    record = judged("v1", case_of(rule), _TakesAnything(), Platform("xpu", "bmg", "2.13.0"))

    assert (record.verdict, record.expected) == ("passed", "right or refused"), record.detail


def test_a_changed_text_stands_in_the_summary(judged: Judged) -> None:
    # A spoiled call that is right shows no kernel at work, so that the plain product is said to be there.
    computed = {**judged("v1", case_of("bias-right"), Hopper()).to_json(), "computed": True}
    reworded = judged("v1", case_of("n-unaligned"), _OtherText()).to_json()

    assert [cause.members for cause in causes_of([computed, reworded])] == [(reworded,)]


# When it comes


def refuse() -> None:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("answers", "expected", "asked"),
    [((False,), True, [SHORT]), ((True, False), True, [SHORT, LONG]), ((True, True), False, [SHORT, LONG])],
)
def test_a_refusal_that_outlasts_the_work_of_the_device_is_late(
    answers: Iterable[bool], expected: bool, asked: list[int]
) -> None:
    seen, left = [], iter(answers)

    def occupy(cycles: int) -> Callable[[], bool]:
        seen.append(cycles)
        return lambda: next(left)

    assert waits_for_nothing(refuse, occupy) is expected
    assert seen == asked


def test_rules_hold_for_problems_of_their_own_alone() -> None:
    assert RULES["fast-accum"].why_not(Problem(84, 256, 512, recipe="1x128-1x128")) is not None
    assert RULES["a-e5m2"].why_not(Problem(84, 256, 512)) is not None
