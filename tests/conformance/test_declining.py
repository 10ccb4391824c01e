"""What a kernel declares that it has not: refused cleanly where it is asked for once, or right, and never wrong."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import declining_kernels as kernels
import pytest
import torch

from cases import Problem, parse_case
from cases.scenarios import SCENARIOS
from conformance.assignment import Assignment
from conformance.backends.protocol import Backend
from conformance.capabilities.asking import CHEAP, KINDS, asked_once
from conformance.capabilities.declared import Capabilities
from conformance.capabilities.table import TABLE
from conformance.contract import Compute, Declined, RightOrRefused
from conformance.errors import UsageError
from conformance.execute import run_case
from conformance.probe import Platform
from conformance.request import Request
from conformance.session import Session
from conformance.shards.share import Shard
from conformance.verdict import CaseRecord

PLATFORM = Platform("cpu", "x86_64", torch.__version__)
TILE = "gemm/1x128-128x128/m5-n144-k384/bf16/tagged-integers/s0"
RAGGED = TILE.replace("k384", "k400")


def planned(kernel: Any, *ids: str) -> tuple[Assignment, ...]:
    """These cases for the kernel, of which each kind that it declines is asked for."""
    backend = kernel if isinstance(kernel, Backend) else Backend(kernel(), spec="test")
    return asked_once(Assignment.of(parse_case(text), backend, PLATFORM) for text in ids)


def judged(kernel: Any, *ids: str) -> list[CaseRecord]:
    return [run_case(each, seed=0, device=torch.device("cpu")) for each in planned(kernel, *ids)]


def declaring(capabilities: object, **more: Any) -> Backend:
    made = type("Declaring", (kernels._Declining,), {"name": "declaring", "capabilities": capabilities, **more})
    return Backend(made(), spec="declaring")


def asked(session: Session) -> list[tuple[str, str]]:
    """What is asked for though it is declined: the declarations against it, and the case."""
    return [(" ".join(a.declined.kinds), a.case.id) for a in session.assignments if is_asked(a)]


def is_asked(assignment: Assignment) -> bool:
    return isinstance(assignment.promise, RightOrRefused) and assignment.promise.declined is not None


# Verdicts


@pytest.mark.parametrize(
    "text",
    [
        TILE.replace("bf16", "fp32"),
        RAGGED,
        TILE.replace("m5", "m65"),
        TILE.replace("m5", "m0"),
    ],
)
def test_what_is_declined_is_refused_cleanly(text: str) -> None:
    (record,) = judged(kernels.Strict, text)

    assert (record.verdict, record.expected) == ("rejected", "undeclared")
    assert record.detail == "ValueError: no kernel for this"
    assert record.declined in TABLE


def test_garbage_where_a_refusal_was_due_is_wrong_whatever_was_declared() -> None:
    (record,) = judged(kernels.DropsTails, RAGGED)

    assert (record.verdict, record.reason, record.declined) == ("failed", "wrong-where-undeclared", "divisible")
    assert record.detail.startswith("drops-tails declares multiples of 128 alone for K, and then wrong-values: ")


def test_what_is_right_though_it_is_declined_passes_and_is_said() -> None:
    layout = TILE.replace("gemm", "layout/a-rows-padded")
    wide, strided = judged(kernels.Modest, TILE.replace("bf16", "fp32"), layout)

    assert (wide.verdict, wide.detail) == ("passed", "works, though modest declares no fp32 (bf16)")
    assert (strided.verdict, strided.detail) == ("passed", "works, though modest declares no strided operands")
    assert (wide.declined, strided.declined) == ("dtypes", "strided_operands")
    assert not wide.computed


def test_memory_that_was_changed_keeps_its_reason() -> None:
    (record,) = judged(kernels.Overwrites, TILE.replace("bf16", "fp32"))

    assert (record.verdict, record.reason) == ("failed", "memory-changed")


def test_what_is_declared_and_fails_is_wrong() -> None:
    ragged, strided = judged(kernels.Boastful, RAGGED, TILE.replace("gemm", "layout/a-rows-padded"))

    assert (ragged.verdict, ragged.reason) == ("failed", "wrong-values")
    assert (strided.verdict, strided.reason) == ("failed", "raised")


def test_a_declared_kernel_owes_the_problems_within_its_limits() -> None:
    (assignment,) = planned(kernels.Strict, TILE)

    assert assignment.promise == Compute(may_decline=False)


# Which case is asked for


def opened(kernel: str, **more: Any) -> Session:
    return Session.open(Request((f"declining_kernels:{kernel}",), "cpu", "quick", examples=0, **more))


def test_one_case_of_each_kind_is_asked_for_at_the_end_of_the_plan() -> None:
    session = opened("Strict")
    questions = asked(session)
    *kept, _, _, _, _, _ = session.assignments

    # An M of 0 is planned with fp32 and a ragged K alone.
    assert sorted(kinds for kinds, _ in questions) == [
        "divisible k",
        "dtypes fp16",
        "dtypes fp32",
        "dtypes fp32 divisible k zero_sizes",
        "largest m",
    ]
    assert [a.case.id for a in session.assignments[-5:]] == [text for _, text in questions]
    assert all(a.case.tier == "exact" and a.case.macs <= CHEAP for a in session.assignments[-5:])
    # Everything else that is declined is not even built.
    assert {type(a.promise) for a in kept if a.declined} == {Declined}


def test_the_case_that_is_asked_for_is_the_same_for_every_order_and_every_share() -> None:
    whole = opened("Strict")
    plan = [Assignment.of(a.case, a.backend, PLATFORM) for a in whole.assignments]
    random.Random(0).shuffle(plan)
    kept = {(a.case.id, str(a.declined)) for a in asked_once(plan) if is_asked(a)}
    shares = [opened("Strict", shard=Shard(index, 3)) for index in (1, 2, 3)]

    assert kept == {(a.case.id, str(a.declined)) for a in whole.assignments if is_asked(a)}
    assert [asked(share) for share in shares] == [asked(whole)] * 3
    run_there = [a.work.key for share in shares for a in share.shared_assignments if is_asked(a)]
    assert sorted(run_there) == sorted(a.work.key for a in whole.assignments if is_asked(a))


def test_the_case_that_tells_most_at_the_least_cost_is_asked_for() -> None:
    both, blind, dear, best, cheap = (
        RAGGED.replace("bf16", "fp32"),
        RAGGED.replace("m5", "m1"),
        RAGGED.replace("m5", "m64"),
        RAGGED,
        RAGGED.replace("tagged-integers", "odd-scales").replace("m5", "m2"),
    )
    pieces = [both, blind, dear, best, cheap]
    for seed in range(5):
        random.Random(seed).shuffle(pieces)
        chosen = {a.case.id for a in planned(kernels.Strict, *pieces) if is_asked(a)}

        # The one with fp32 is the only one of its kind, for which there is nothing better.
        assert chosen == {best, both}


def test_what_is_dear_or_judged_by_a_bound_is_not_asked_for() -> None:
    huge = RAGGED.replace("m5-n144", "m65536-n4096")
    loose = RAGGED.replace("tagged-integers", "quantised-normal")

    assert not any(map(is_asked, planned(kernels.Strict, huge, loose)))


def test_texts_of_can_implement_that_differ_in_numbers_are_one_reason_and_only_a_few_are_asked_about() -> None:
    words = [f"{'x' * count} no" for count in range(1, KINDS + 3)]
    chatty = declaring({}, can_implement=lambda self, problem: (False, words[problem.n // 16]))
    counting = declaring({}, can_implement=lambda self, problem: (False, f"N is {problem.n}"))
    ids = [TILE.replace("n144", f"n{16 * count}") for count in range(len(words))][1:]

    assert sum(map(is_asked, planned(counting, *ids))) == 1
    assert [a.case.id for a in planned(chatty, *ids) if is_asked(a)] == ids[:KINDS]


@pytest.mark.parametrize("capability", ["determinism", "batch_invariance", "operand_checks", "compile", "out"])
def test_what_a_refusal_says_nothing_about_is_not_asked_for(capability: str) -> None:
    one_of = {name: scenario for name, scenario in SCENARIOS.items() if scenario.capability == capability}
    ids = [TILE.replace("gemm", name) for name in one_of if name != "state/fake"]
    backend = declaring({capability: False})

    assert ids or capability in ("determinism", "batch_invariance")
    assert not any(map(is_asked, planned(backend, *ids)))


def test_an_out_that_a_kernel_takes_and_does_not_declare_is_asked_for() -> None:
    def multiply(self: Any, A: Any, B: Any, As: Any, Bs: Any, *, out_dtype: Any, out: Any = None) -> Any:
        return kernels.Modest().apply_block_scaled_mm(A, B, As, Bs, out_dtype=out_dtype)

    ignoring = declaring({"out": False}, apply_block_scaled_mm=multiply)
    (record,) = judged(ignoring, TILE.replace("gemm", "layout/out-given"))

    assert (record.verdict, record.reason) == ("failed", "wrong-where-undeclared")
    assert "and then out-not-used" in record.detail


@pytest.mark.parametrize("attribute", ["is_model", "api"])
def test_models_and_torchs_own_calls_are_not_asked_beyond_their_word(attribute: str) -> None:
    backend = declaring({"dtypes": ("bf16",)})
    setattr(backend, attribute, "v1" if attribute == "api" else True)

    assert not any(map(is_asked, planned(backend, TILE.replace("bf16", "fp32"))))


def test_generated_cases_are_drawn_where_the_example_of_all_is_beyond_a_limit() -> None:
    request = Request(("declining_kernels:Strict",), "cpu", "quick", examples=100)

    assert [drawing.backend.name for drawing in Session.open(request).drawings] == ["strict"]


# Declarations


PROBLEM = Problem(5, 144, 400, "fp16", a="e5m2")


@pytest.mark.parametrize(
    ("declared", "kinds"),
    [
        ({"dtypes": ("bf16", "fp16")}, []),
        ({"dtypes": ("e5m2",)}, ["dtypes e4m3fn"]),
        ({"dtypes": ["bfloat16", torch.float8_e4m3fn]}, ["dtypes fp16", "dtypes e5m2"]),
        ({"divisible": {"m": 4, "n": 16, "k": 128}}, ["divisible m", "divisible k"]),
        ({"largest": {"m": 5, "n": 143, "macs": 5 * 144 * 400}}, ["largest n"]),
        ({"largest": {"macs": 5 * 144 * 400 - 1}}, ["largest macs"]),
        ({"zero_sizes": False}, []),
    ],
)
def test_what_a_declaration_leaves_out(declared: Mapping[str, object], kinds: list[str]) -> None:
    said = Capabilities.read(declared, "b")

    assert [exclusion.kind for exclusion in said.exclusions(PROBLEM)] == kinds


def test_zero_rows_are_left_out_where_that_is_declared() -> None:
    empty = replace(PROBLEM, m=0)

    assert [e.kind for e in Capabilities.read({"zero_sizes": False}, "b").exclusions(empty)] == ["zero_sizes"]
    assert not Capabilities.read({"zero_sizes": True}, "b").exclusions(empty)


def test_sizes_that_are_no_multiples_of_16_are_owed_where_a_step_is_declared_that_has_them() -> None:
    declared = {name: declaring({"divisible": steps}) for name, steps in (("none", {"m": 1}), ("k", {"k": 1}))}

    promises = {
        name: Assignment.of(parse_case(RAGGED.replace("k400", "k401")), b, PLATFORM).promise
        for name, b in declared.items()
    }

    assert promises == {"none": RightOrRefused(), "k": Compute(may_decline=False)}


def test_what_is_declared_is_told_in_the_order_of_the_table() -> None:
    declared = {"out": False, "largest": {"n": 9, "m": 8}, "dtypes": {"fp32", "bf16"}, "strided_operands": True}

    told = Capabilities.read(declared, "b").to_json()

    assert told == {"dtypes": ["bf16", "fp32"], "largest": {"m": 8, "n": 9}, "strided_operands": True, "out": False}
    assert list(told) == [name for name in TABLE if name in told]


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"determinsm": True}, "the unknown capability 'determinsm': did you mean 'determinism'?"),
        ({"zebra": True}, "the unknown capability 'zebra'; there are dtypes, divisible, "),
        ({3: True}, "the unknown capability 3; there are dtypes,"),
        ({"out": 1}, "'out' is True or False, got 1"),
        ({"out": Hostile()}, "'out' is True or False, got a Hostile"),
        ({"dtypes": ()}, "'dtypes' is a tuple of one or more of e4m3fn, "),
        ({"dtypes": "bf16"}, "'dtypes' is a tuple of one or more of e4m3fn, "),
        ({"dtypes": ("bf61",)}, "names the unknown dtype 'bf61': did you mean 'bf16'?"),
        ({"dtypes": (torch.int8,)}, "names the unknown dtype 'int8'"),
        ({"divisible": 16}, "is a dict from one or more of m, n, k to whole numbers from 1, got 16"),
        ({"divisible": {}}, "is a dict from one or more of m, n, k to whole numbers from 1"),
        ({"divisible": {"N": 16}}, "names the unknown size 'N'; there are m, n, k"),
        ({"divisible": {"n": 0}}, "'divisible' has a whole number from 1 for 'n', got 0"),
        ({"divisible": {"n": True}}, "'divisible' has a whole number from 1 for 'n', got True"),
        ({"largest": {"mac": 9}}, "names the unknown size 'mac': did you mean 'macs'?"),
        ({"largest": {"m": 1 << 62}}, "'largest' has a whole number from 1 for 'm', got 46116860"),
        (["out"], "`capabilities` is a dict from names to what is declared, got ['out']; there are dtypes,"),
    ],
)
def test_a_declaration_that_is_none_is_one_sentence(declared: object, says: str) -> None:
    with pytest.raises(UsageError) as error:
        declaring(declared)

    assert says in str(error.value)
    assert str(error.value).startswith("backend 'declaring'")
    assert "\n" not in str(error.value)


def test_the_page_of_backends_names_every_capability() -> None:
    page = (Path(__file__).parents[2] / "docs/backends.md").read_text(encoding="utf-8")
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]

    assert [name for name in rows if name in TABLE] == list(TABLE)
