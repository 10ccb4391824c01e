"""Shares of a plan: disjoint, together all of it, of about equal work, and the same for whoever takes one."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_reports import Command

from cases import PROFILES, Case, parse_case
from conformance.errors import UsageError
from conformance.records import read_report
from conformance.request import Request
from conformance.session import Session
from conformance.shards.share import Shard, Work

SMALL = "gemm/1x128-128x128/m5-n144-k400/bf16/tagged-integers/s0"

works = st.lists(
    st.builds(
        lambda name, inputs, cost: Work(("b", f"gemm/{name}"), f"inputs-{inputs}", cost),
        st.integers(0, 99),
        st.integers(0, 30),
        st.sampled_from((0.1, 0.2, 0.3, 0.7, 1e6)),
    ),
    unique_by=lambda work: work.key,
    max_size=60,
)


@given(works, st.integers(1, 12), st.randoms())
def test_shards_are_a_partition_that_no_order_changes(plan: list[Work], count: int, dice: random.Random) -> None:
    shards = [Shard(index, count) for index in range(1, count + 1)]
    taken = [shard.of(plan) for shard in shards]
    dice.shuffle(plan)

    assert frozenset().union(*taken) == {work.key for work in plan}
    assert not any(one & two for one, two in combinations(taken, 2))
    assert [shard.of(plan) for shard in shards] == taken
    for work, other in combinations(plan, 2):
        if work.inputs == other.inputs:
            assert [work.key in share for share in taken] == [other.key in share for share in taken]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_is_shared_out_evenly(profile: str) -> None:
    session = opened(profile, examples=1000)
    plan = [piece.work for piece in (*session.assignments, *session.drawings)]
    shares = [Shard(index, 5).of(plan) for index in range(1, 6)]

    assert sum(map(len, shares)) == len(plan)
    assert frozenset().union(*shares) == session.planned == {work.key for work in plan}
    home = {key: index for index, share in enumerate(shares) for key in share}
    homes = {(a.case.inputs, home[a.work.key]) for a in session.assignments}
    assert len(homes) == len({inputs for inputs, _ in homes})
    work = [sum(work.cost for work in plan if work.key in share) for share in shares]
    assert max(work) <= 1.3 * sum(work) / 5


def test_the_order_in_which_costs_are_added_does_not_count() -> None:
    plan = [Work(("b", str(cost)), inputs, cost) for inputs, cost in (("z", 0.1), ("z", 0.2), ("z", 0.3), ("a", 0.6))]

    assert Shard(1, 2).of(plan) == Shard(1, 2).of(plan[::-1])


def opened(profile: str, **more: Any) -> Session:
    return Session.open(Request(("torch-v1", "emulated-sm90"), "cpu", profile, **more))


def test_a_session_runs_its_share_in_the_order_of_the_plan() -> None:
    whole, part = opened("quick", examples=200), opened("quick", examples=200, shard=Shard(2, 3))

    assert part.planned == whole.planned
    assert {p.work.key for p in (*part.shared_assignments, *part.shared_drawings)} == part.share
    assert list(part.shared_assignments) == [a for a in part.assignments if a.work.key in part.share]
    assert 0 < len(part.share) < len(whole.share) == len(whole.planned)


def test_a_product_outweighs_refusals_and_a_batch_outweighs_both() -> None:
    large = SMALL.replace("m5-n144-k400", "m83-n576-k7168")
    (refused, small), (_, product) = (
        Session.open(Request(("torch-v2", "emulated-sm90"), "cpu", cases=(name,))).assignments
        for name in (SMALL, large)
    )
    (batch,) = opened("quick", examples=100).drawings

    order = [piece.work.cost for piece in (refused, small, product, batch)]
    assert order == sorted(set(order))


def test_no_process_has_a_share_of_its_own() -> None:
    program = (
        "from conformance.shards.share import *; from cases import plan; import zlib\n"
        "works = [Work(('b', case.id), case.inputs, case.problem.macs) for case in plan('quick')]\n"
        "print(zlib.crc32(repr(sorted(Shard(2, 3).of(works))).encode()))"
    )
    said = {
        subprocess.check_output([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed})
        for seed in ("0", "1")
    }
    assert len(said) == 1


@pytest.mark.parametrize("text", ["0/5", "6/5", "x", "", "1/0", "-1/5", "2/5/7", "1/٣", " 1/5"])
def test_a_bad_share_is_one_sentence(text: str, command: Command) -> None:
    with pytest.raises(UsageError, match=r"--shard takes I/N"):
        Shard.parse(text)

    code, out, err = command("run", f"--shard={text}")
    assert (code, out, len(err.splitlines())) == (2, "", 1)


def test_a_share_is_spelled_as_it_was_asked_for() -> None:
    assert [Shard.parse(str(Shard(2, 5))), Shard.parse("1/1")] == [Shard(2, 5), Shard(1, 1)]


def run(pytester: pytest.Pytester, *arguments: str, backend: str = "emulated-sm90") -> pytest.RunResult:
    suite = ("--pyargs", "conformance.suite", "-p", "no:cacheprovider", "--conformance-device=cpu")
    return pytester.runpytest_inprocess(
        *suite, "--conformance-report=out", f"--conformance-backend={backend}", *arguments
    )


def test_a_share_says_so_and_leaves_the_rest_alone(pytester: pytest.Pytester) -> None:
    result = run(pytester, f"--conformance-case={SMALL}", "--conformance-shard=1/1")

    header, lines, footer = read_report(pytester.path / "out")
    assert (result.ret, header["shard"], header["plan"]["cases"], len(lines)) == (0, "1/1", 1, 1)
    assert footer is not None
    assert (footer["complete"], footer["conclusion"]) == (
        False,
        "CONFORMS (shard 1/1: not the whole profile): 1 passed",
    )


def test_not_even_one_share_of_one_is_complete(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    def small(profile: str) -> tuple[Case, ...]:
        return (parse_case(SMALL),)

    monkeypatch.setattr("conformance.request.plan", small)
    complete = {}
    for shard in ([], ["--conformance-shard=1/1"]):
        run(pytester, "--conformance-profile=quick", *shard)
        *_, footer = read_report(pytester.path / "out")
        complete[len(shard)] = footer and footer["complete"]

    assert complete == {0: True, 1: False}


def test_without_a_share_nothing_selected_is_no_session(pytester: pytest.Pytester) -> None:
    result = run(pytester, f"--conformance-case={SMALL}", "-k", "nothing")

    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not (pytester.path / "out").exists()


@pytest.mark.parametrize("arguments", [("--conformance-shard=2/2",), ("--conformance-shard=1/2", "-k", "nothing")])
def test_a_share_that_nothing_falls_to_answers_for_nothing(
    arguments: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    result = run(pytester, f"--conformance-case={SMALL}", *arguments)

    header, lines, footer = read_report(pytester.path / "out")
    assert (result.ret, header["plan"]["cases"], lines) == (0, 1, [])
    assert footer is not None
    assert (footer["exit_code"], "it has no case" in footer["conclusion"]) == (0, True)


def test_a_share_need_not_compute_but_must_show_what_is_required(pytester: pytest.Pytester) -> None:
    asked = (f"--conformance-case={SMALL}", "--conformance-shard=1/1")

    assert run(pytester, *asked, backend="torch-v2").ret == 0
    assert run(pytester, *asked[:1], backend="torch-v2").ret == 4
    assert run(pytester, *asked, "--conformance-require=sm90", backend="torch-v2").ret == 4


def test_an_empty_share_is_green_on_the_command_line(tmp_path: Path, command: Command) -> None:
    asked = ("-n", 0, "--case", SMALL, "--backend", "native", "--device", "cpu", "--report", tmp_path)

    code, out, _ = command("run", *asked, "--shard", "2/2")
    assert (code, "CONFORMS (shard 2/2" in out) == (0, True)
    assert command("run", *asked, "-k", "nothing")[0] == 4
