"""The ledger of known deviations: what it excuses, what it must not, and what is wrong with an entry itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import kernels
import pytest
import torch

from cases import Profile, parse_case, plan
from cases.strategies import Batch
from conformance.backends.protocol import Backend
from conformance.conclude import conclude
from conformance.deviations.entry import Entry, Machine, Sizes, Where
from conformance.deviations.ledger import Ledger, shipped
from conformance.deviations.reading import read_ledger
from conformance.errors import UsageError
from conformance.generated import Drawing, run_batch
from conformance.probe import Platform
from conformance.verdict import CaseRecord, Verdict

HERE = Path(__file__).parent.parent
HOPPER = Machine(Platform("cuda", "sm90", "2.11.0+cu130", "13.0"), cublas="13.1.0.3", driver="580.159.04")
TWO_BLOCKS = "gemm/1x128-128x128/m5-n144-k256/bf16/tagged-integers/s0"
ONE_BLOCK = "gemm/1x128-128x128/m5-n144-k128/bf16/tagged-integers/s0"
ENTRY = Entry(
    id="next-scale",
    backends=("next-scale",),
    cases=("gemm/*",),
    reasons=("wrong-values", "out-of-bound"),
    observed="the product is wrong",
    reason="it takes the scales of the next K block",
    link="https://example.org/1",
    evidence="seen here",
    problem={"k_blocks": Sizes(min=2)},
)
TOML = """
schema = 1
[[deviation]]
id = "next-scale"
backends = ["next-scale"]
cases = ["gemm/*"]
reasons = ["wrong-values", "out-of-bound"]
observed = "the product is wrong"
reason = "it takes the scales of the next K block"
link = "https://example.org/1"
evidence = "seen here"
problem.k_blocks = { min = 2 }
"""


def record(case: str, verdict: Verdict, reason: str = "", backend: str = "next-scale") -> CaseRecord:
    return CaseRecord(id=case, backend=backend, verdict=verdict, reason=reason, path="cpu", computed=True)


def settled(entry: Entry, found: CaseRecord) -> tuple[str, str]:
    settled = Ledger((entry,)).settle(parse_case(found.id), found)
    return settled.verdict, settled.deviation


class TestSettling:
    def test_a_failure_that_is_foreseen_is_known(self) -> None:
        assert settled(ENTRY, record(TWO_BLOCKS, "failed", "wrong-values")) == ("known-deviation", "next-scale")

    @pytest.mark.parametrize(
        "found",
        [
            record(TWO_BLOCKS, "failed", "raised"),
            record(TWO_BLOCKS, "failed", "memory-changed"),
            record(ONE_BLOCK, "failed", "wrong-values"),
            record(TWO_BLOCKS, "failed", "wrong-values", backend="native"),
            record(f"state/repeat/{TWO_BLOCKS.partition('/')[2]}", "failed", "wrong-values"),
        ],
        ids=["raised", "memory", "size", "backend", "scenario"],
    )
    def test_any_other_failure_stays_one(self, found: CaseRecord) -> None:
        assert settled(ENTRY, found) == ("failed", "")

    def test_a_pass_that_is_not_foreseen_makes_the_entry_stale(self) -> None:
        assert settled(ENTRY, record(TWO_BLOCKS, "passed")) == ("stale-deviation", "next-scale")
        assert settled(ENTRY, record(ONE_BLOCK, "passed")) == ("passed", "")

    def test_what_may_pass_by_chance_may(self) -> None:
        lenient = replace(ENTRY, may_pass=("*/tagged-integers/*",))

        assert settled(lenient, record(TWO_BLOCKS, "passed")) == ("passed", "")
        assert settled(lenient, record(TWO_BLOCKS, "failed", "wrong-values")) == ("known-deviation", "next-scale")

    @pytest.mark.parametrize("verdict", ["rejected", "unsupported", "error", "not-run"])
    def test_what_gave_no_product_contradicts_nothing(self, verdict: Verdict) -> None:
        assert settled(ENTRY, record(TWO_BLOCKS, verdict)) == (verdict, "")

    def test_generated_cases_fail_for_what_nobody_foresaw(self) -> None:
        drawing = Drawing(Batch(0), Backend(kernels.NextScale(), spec="test"), Platform("cpu", "", torch.__version__))
        everywhere = replace(ENTRY, cases=("*",))
        narrow = replace(everywhere, problem={"k_blocks": Sizes(min=3)})
        cpu = torch.device("cpu")

        foreseen = run_batch(drawing, Ledger((everywhere,)), seed=0, device=cpu)
        assert foreseen.verdict == "passed"
        assert f"known-deviation ({ENTRY.id})" in foreseen.detail
        unforeseen = run_batch(drawing, Ledger((narrow,)), seed=0, device=cpu)
        assert unforeseen.verdict == "failed"
        assert parse_case(unforeseen.reproduce).problem.k_blocks == 2


@pytest.mark.parametrize(
    ("where", "since", "until", "holds"),
    [
        (Where(), "", "", True),
        (Where(("cuda",), ("sm90",)), "", "", True),
        (Where(("rocm",)), "", "", False),
        (Where(("cuda",), ("sm100",)), "", "", False),
        (Where(versions={"torch": ">=2.11,<2.12"}), "", "", True),
        (Where(versions={"torch": "<2.11"}), "", "", False),
        (Where(versions={"runtime": ">=12.9", "cublas": "==13.1.*", "driver": ">=580"}), "", "", True),
        (Where(versions={"cublas": "<13"}), "", "", False),
        (Where(versions={"driver": "<580"}), "", "", False),
        (Where(), "2.11", "", True),
        (Where(), "2.12", "", False),
        (Where(), "", "2.11", False),
        (Where(), "2.10", "2.12", True),
    ],
)
def test_an_entry_holds_where_all_of_its_condition_does(where: Where, since: str, until: str, holds: bool) -> None:
    assert replace(ENTRY, where=where, since=since, until=until).holds_on(HOPPER) is holds


def test_a_version_that_is_not_known_fulfils_no_condition() -> None:
    assert not replace(ENTRY, where=Where(versions={"cublas": ">=1"})).holds_on(replace(HOPPER, cublas=""))


@pytest.mark.parametrize(
    ("sizes", "holding"),
    [
        (Sizes(min=3), [3, 4, 5, 6]),
        (Sizes(max=2), [0, 1, 2]),
        (Sizes(multiple_of=3), [0, 3, 6]),
        (Sizes(not_multiple_of=3), [1, 2, 4, 5]),
        (Sizes(min=1, max=5, not_multiple_of=2), [1, 3, 5]),
    ],
)
def test_sizes(sizes: Sizes, holding: list[int]) -> None:
    assert [size for size in range(7) if sizes.hold(size)] == holding


class TestConclusion:
    KNOWN: ClassVar[dict[str, Any]] = {"verdict": "known-deviation", "deviation": "d", "path": "cpu", "computed": True}
    STALE: ClassVar[dict[str, Any]] = {"verdict": "stale-deviation", "deviation": "d", "path": "cpu", "computed": True}

    def test_known_ones_are_green(self) -> None:
        assert conclude([self.KNOWN], owing=["d"]) == conclude([self.KNOWN])
        assert conclude([self.KNOWN]).code == 0

    def test_an_entry_of_which_all_cases_pass_is_stale(self) -> None:
        found = conclude([self.STALE, self.STALE], owing=["d"])

        assert (found.code, found.sentence) == (
            1,
            "WRONG: deviation d is stale: all 2 cases pass that it covers, so close it with 'until'",
        )

    def test_an_entry_of_which_some_pass_is_too_broad(self) -> None:
        found = conclude([self.STALE, self.KNOWN, self.KNOWN], owing=["d"])

        assert found.code == 1
        assert "deviation d is too broad: 1 of 3 cases that it covers pass, so narrow it" in found.sentence

    def test_an_entry_that_matches_nothing_is_wrong_where_it_had_to(self) -> None:
        passed = {"verdict": "passed", "path": "cpu", "computed": True}

        assert conclude([passed]).code == 0
        assert conclude([passed], owing=["d"]).sentence.endswith("deviation d matches no case of this machine, "
                                                                 "so narrow its 'where'")  # fmt: skip
        assert conclude([passed], owing=["d"]).code == 1


MISTAKES = [
    ("schema = 1", "schema = 2", "'schema' has to be 1, got 2"),
    ("schema = 1", "", "'schema' has to be 1, got None"),
    ("schema = 1", "schema = = 1", "is no TOML"),
    ("[[deviation]]", "[deviation]", "write every entry under a [[deviation]] of its own"),
    ("[[deviation]]", "[[deviations]]", "unknown key 'deviations': did you mean 'deviation'?"),
    ('id = "next-scale"', "", "deviation 'without an id': 'id' is missing"),
    ('evidence = "seen here"', 'evidence = " "', "deviation 'next-scale': 'evidence' is missing or no text"),
    ('evidence = "seen here"', "", "'evidence' is missing"),
    ("observed", "obsevred", "unknown key 'obsevred': did you mean 'observed'?"),
    ('cases = ["gemm/*"]', 'cases = "gemm/*"', "'cases' has to be a list of texts, got 'gemm/*'"),
    ('cases = ["gemm/*"]', "cases = []", "'cases' has to be a list of texts, got []"),
    ('"wrong-values", ', '"wrong-value", ', "unknown reason 'wrong-value': did you mean 'wrong-values'?"),
    ("problem.k_blocks", "problem.k_block", "unknown size 'k_block': did you mean 'k_blocks'?"),
    ("{ min = 2 }", "{ mim = 2 }", "unknown limit of 'k_blocks' 'mim': did you mean 'min'?"),
    ("{ min = 2 }", "{ multiple_of = 0 }", "'problem.k_blocks.multiple_of' has to be a whole number, got 0"),
    ("{ min = 2 }", "{ min = true }", "'problem.k_blocks.min' has to be a whole number, got True"),
    ("{ min = 2 }", "2", "'problem.k_blocks' has to be a table such as { min = 129 }, got 2"),
    ("problem.k_blocks = { min = 2 }", "problem = 2", "'problem' has to be a dict, got 2"),
    ("problem.k_blocks = { min = 2 }", 'where.torch = "2.10"', "'where.torch' has to be version specifiers"),
    ("problem.k_blocks = { min = 2 }", "where.torch = 2.10", "'where.torch' has to be version specifiers"),
    ("problem.k_blocks = { min = 2 }", 'where.platform = ["cude"]', "unknown platform 'cude': did you mean 'cuda'?"),
    ("problem.k_blocks = { min = 2 }", 'where.cuda = ">=12"', "unknown condition 'cuda'"),
    ("problem.k_blocks = { min = 2 }", 'since = "two"', "'since' has to be a version such as '2.10', got 'two'"),
    ("problem.k_blocks = { min = 2 }", "quarantine = 1", "'quarantine' has to be a bool, got 1"),
    ('cases = ["gemm/*"]', 'cases = ["*"]\nmay_pass = ["*"]', "'may_pass' covers every case"),
]


@pytest.mark.parametrize(("right", "wrong", "says"), MISTAKES)
def test_a_malformed_entry_is_named_with_what_to_write(right: str, wrong: str, says: str, tmp_path: Path) -> None:
    assert right in TOML
    path = tmp_path / "ledger.toml"
    path.write_text(TOML.replace(right, wrong), encoding="utf-8")

    with pytest.raises(UsageError, match=re.escape(says)) as caught:
        read_ledger(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value).strip()


def test_an_entry_for_everything_is_refused_as_over_broad(tmp_path: Path) -> None:
    path = tmp_path / "ledger.toml"
    path.write_text(TOML.replace("gemm/*", "*").replace("problem.k_blocks = { min = 2 }", ""), encoding="utf-8")

    with pytest.raises(UsageError, match="it covers every case"):
        read_ledger(path)


def test_reading_gives_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "ledger.toml"
    path.write_text(TOML, encoding="utf-8")

    assert read_ledger(path) == (ENTRY,)


def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.toml"
    path.write_text(TOML, encoding="utf-8")

    with pytest.raises(UsageError, match="two deviations are called 'next-scale'"):
        Ledger.open((path, path), HOPPER)


class TestShipped:
    def test_every_entry_gives_its_evidence_and_an_upstream_link(self) -> None:
        assert shipped()
        for entry in shipped():
            assert entry.link.startswith("https://github.com/")
            assert re.match("(measured|read|derived)", entry.evidence)

    @pytest.mark.parametrize("profile", ["quick", "standard", "full"])
    def test_every_entry_has_a_case_in_every_profile(self, profile: Profile) -> None:
        # A complete plan in which an entry has none is red on the machines that the entry speaks of.
        cases = plan(profile)

        for entry in shipped():
            assert any(entry.covers(case, backend) for case in cases for backend in entry.backends), entry.id

    def test_what_holds_on_hopper_is_said_of_the_versions_that_have_it(self) -> None:
        def ids(torch: str, arch: str = "sm90", kind: str = "cuda", runtime: str = "13.0") -> set[str]:
            return {x.id for x in Ledger.open((), Machine(Platform(kind, arch, torch, runtime))).entries}

        overruns = {"v1-b-scales-overrun", "v1-b-scales-overrun-in-related-calls"}
        ragged = {"v2-fake-refuses-ragged-n", "v2-fake-refuses-ragged-k"}
        assert ids("2.11.0+cu130") == overruns | ragged | {"v2-rowwise-ignores-a-scale-strides"}
        assert ids("2.13.0") == overruns | ragged
        assert ids("2.14.1") == ids("2.15.0") == overruns
        elsewhere = [
            ids("2.9.1"),
            ids("2.11.0", "sm100"),
            ids("2.11.0", "gfx942", "rocm"),
            ids("2.10.0", runtime="12.8"),
        ]
        assert elsewhere == [set()] * 4

    @pytest.mark.parametrize(
        ("torch", "expected"),
        [
            ("2.9.1", {"v1-fake-accepts-blocks-on-cpu"}),
            ("2.10.0+cpu", {"v1-fake-accepts-blocks-on-cpu", "v2-fake-accepts-without-a-kernel-on-cpu"}),
            ("2.11.0+cu130", {"v1-fake-accepts-blocks-on-cpu", "v2-fake-accepts-without-a-kernel-on-cpu"}),
            ("2.12.1+cpu", {"v1-fake-accepts-blocks-on-cpu", "v2-fake-accepts-whole-blocks-on-cpu"}),
            ("2.13.0+cpu", {"v1-fake-accepts-blocks-on-cpu", "v2-fake-accepts-whole-blocks-on-cpu"}),
            ("2.14.1+cu130", {"v1-fake-accepts-blocks-on-cpu", "v2-fake-accepts-blocks-on-cpu"}),
            ("2.15.0", set()),
        ],
    )
    def test_what_fake_kernels_do_is_said_of_cpus_and_of_the_versions_it_was_measured_on(
        self, torch: str, expected: set[str]
    ) -> None:
        ledger = Ledger.open((), Machine(Platform("cpu", "", torch, "")))

        assert {entry.id for entry in ledger.entries} == expected

    def test_it_covers_the_products_whose_b_scales_are_read_on_past_their_end(self) -> None:
        entry = next(entry for entry in shipped() if entry.id == "v1-b-scales-overrun")
        products = [case for case in plan("standard") if case.problem.recipe == "1x128-128x128" and case.problem.m]

        for case in products:
            padded = -(-case.problem.k_blocks // 4) * 4
            furthest = (case.problem.n_blocks - 1) * padded
            assert entry.covers(case, "torch-v1") is (furthest != (case.problem.n_blocks - 1) * case.problem.k_blocks)
            assert not entry.covers(case, "torch-v2")


def run(
    folder: Path, *arguments: str, ledger: str = TOML
) -> tuple[subprocess.CompletedProcess[str], list[dict[str, Any]]]:
    (folder / "ledger.toml").write_text(ledger, encoding="utf-8")
    start = f"import sys; sys.path.append({str(HERE)!r}); from conformance.cli import main; main()"
    # In one process, where no test asks for workers: each more of them imports torch first.
    where = () if "-n" in arguments else ("-n", "0")
    command = [sys.executable, "-c", start, "run", "--device", "cpu", "--deviations", "ledger.toml", *arguments, *where]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    report = folder / "conformance-report" / "report.jsonl"
    return done, [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []


class TestRunning:
    WRONG = ("--backend", "kernels:NextScale", "--case", TWO_BLOCKS)

    def test_a_known_deviation_is_green_and_said(self, tmp_path: Path) -> None:
        done, lines = run(tmp_path, *self.WRONG)

        assert done.returncode == 0, done.stdout
        assert "CONFORMS (selection of 1 case: not the whole profile): 1 known-deviation" in done.stdout
        assert "exercised: cpu (wrong as known)" in done.stdout
        assert (lines[1]["verdict"], lines[1]["deviation"]) == ("known-deviation", "next-scale")
        assert lines[1]["reason"] == "wrong-values"
        assert "1/1  1 known  " in done.stderr

    def test_without_its_entry_it_is_wrong(self, tmp_path: Path) -> None:
        done, _ = run(tmp_path, *self.WRONG, ledger="schema = 1")

        assert (done.returncode, "WRONG: 1 of 1 cases failed" in done.stdout) == (1, True)

    def test_a_stale_entry_is_wrong_in_a_selection_too(self, tmp_path: Path) -> None:
        done, lines = run(
            tmp_path, "--backend", "native", "--case", TWO_BLOCKS, ledger=TOML.replace('["next-scale"]', '["native"]')
        )

        assert done.returncode == 1
        assert "deviation next-scale is stale: the one case passes that it covers" in done.stdout
        assert lines[1]["detail"] == "next-scale says that the product is wrong, and it passes"

    def test_a_complete_run_owes_a_case_to_every_entry_and_a_selection_does_not(self, tmp_path: Path) -> None:
        idle = TOML.replace('["next-scale"]', '["native"]').replace("min = 2", "min = 1000000")
        complete, _ = run(tmp_path, "--backend", "native", "--profile", "quick", ledger=idle)
        selection, _ = run(tmp_path, "--backend", "native", "--profile", "quick", "-k", "upstream", ledger=idle)
        other, _ = run(tmp_path, "--backend", "native", "--case", TWO_BLOCKS)

        assert complete.returncode == 1
        assert "WRONG: deviation next-scale matches no case of this machine" in complete.stdout
        assert (selection.returncode, other.returncode) == (0, 0)

    def test_what_is_quarantined_runs_when_asked_for_alone(self, tmp_path: Path) -> None:
        dangerous = f"{TOML}quarantine = true\n"
        waiting, lines = run(tmp_path, *self.WRONG, ledger=dangerous)
        asked, _ = run(tmp_path, *self.WRONG, "--quarantined", ledger=dangerous)

        assert waiting.returncode == 4
        assert (lines[1]["verdict"], lines[1]["reason"]) == (
            "unsupported",
            "quarantined by next-scale: the product is wrong",
        )
        assert "CONFORMS (selection of 1 case: not the whole profile): 1 known-deviation" in asked.stdout

    def test_quarantine_owes_nothing(self) -> None:
        machine = Machine(Platform("cpu", "", torch.__version__))
        entry = replace(ENTRY, quarantine=True)

        assert Ledger((ENTRY,)).owing(["next-scale"]) == ("next-scale",)
        assert Ledger((entry,)).owing(["next-scale"]) == ()
        assert Ledger((entry,), quarantined=False).owing(["next-scale"]) == ("next-scale",)
        assert Ledger((ENTRY,)).owing(["native"]) == ()
        assert entry.holds_on(machine)

    def test_a_wrong_ledger_is_one_sentence(self, tmp_path: Path) -> None:
        done, _ = run(tmp_path, *self.WRONG, ledger=TOML.replace("observed", "obsevred"))

        assert done.returncode == 2
        assert done.stderr.strip().endswith("deviation 'next-scale': unknown key 'obsevred': did you mean 'observed'?")
        assert "Traceback" not in done.stderr
