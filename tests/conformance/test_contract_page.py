"""What is derived from the table: the page, the changes between two versions, descriptions of other machines."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from conformance.contract import TABLE, describe_promise, promise_of
from conformance.contract.changes import Change, changes, told
from conformance.contract.described import DEVICES, RELEASES, described, every_platform
from conformance.contract.page import UPSTREAM, page
from conformance.contract.row import APIS, EVIDENCE
from conformance.deviations.ledger import shipped
from conformance.errors import UsageError
from conformance.probe import PATHS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "contract.md"


def test_the_page_is_what_the_table_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: conformance contract > docs/contract.md"


def test_the_page_names_every_source_refusal_and_deviation() -> None:
    text = page()

    for row in TABLE:
        assert row.source in text
        assert row.evidence in EVIDENCE
    assert all(f"| {entry.id} |" in text for entry in shipped())
    assert all(f"| {label} |" in text for label in ("E0", "E1", "E2", "E3", "E4", "E5", "E6", "E8", "E8a", "E9"))


def test_no_line_breaks_a_table() -> None:
    tables = [line for line in page().splitlines() if line.startswith("|")]

    for above, line in pairwise(tables):
        if set(above) <= {"|", "-"}:
            assert line.replace("\\|", "").count("|") == above.count("|")


@pytest.mark.parametrize("release", RELEASES)
def test_a_line_decides_on_every_described_platform(release: str) -> None:
    for platform in every_platform(release):
        for api in APIS:
            assert describe_promise(promise_of(api, platform, UPSTREAM)) != "right or refused", (platform, api)


def test_every_path_is_described() -> None:
    assert {platform.path for platform in every_platform("2.13.0")} == set(PATHS)


@pytest.mark.parametrize(
    ("torch", "runtime"),
    [("2.9.1", "12.8"), ("2.10.0", "12.8"), ("2.11.0", "13.0"), ("2.14.1", "13.0"), ("2.15.0", "13.2")],
)
def test_default_wheels_are_built_for_one_cuda(torch: str, runtime: str) -> None:
    assert described("cuda/sm90", torch).runtime == runtime
    assert described("cuda/sm90", torch, "12.9").runtime == "12.9"
    assert described("cpu", torch).runtime == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cdua/sm90", "unknown platform 'cdua': did you mean 'cuda'?"),
        ("cuda", "'cuda' has several architectures: write cuda/ and one of " + ", ".join(DEVICES["cuda"])),
    ],
)
def test_a_platform_that_is_none_is_answered_with_a_choice(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        described(text, "2.13.0")

    assert str(refused.value) == said


class TestChanges:
    def test_an_upgrade_to_cuda_13_opens_hopper_and_brings_the_overrun(self) -> None:
        found = changes("2.10.0", "2.11.0", "cuda/sm90")

        opened = {(x.subject.split(" at ")[0], x.old, x.new) for x in found if " at " in x.subject}
        assert opened == {
            ("torch._scaled_mm", "refuse E3", "compute"),
            ("torch.nn.functional.scaled_mm", "refuse E2", "compute"),
        }
        assert any("v1-b-scales-overrun)" in x.subject and x.new == "wrong" for x in found)

    def test_between_2_13_and_2_14_only_fake_kernels_change_on_a_cpu(self) -> None:
        found = changes("2.13.0", "2.14.1", "cpu")

        assert {x.subject.split("(")[-1] for x in found} == {
            "v2-fake-accepts-blocks-on-cpu)",
            "v2-fake-accepts-whole-blocks-on-cpu)",
        }

    def test_backwards_is_the_same_with_old_and_new_exchanged(self) -> None:
        there, back = (changes(*pair, "mps") for pair in (("2.14.1", "2.15.0"), ("2.15.0", "2.14.1")))

        assert there
        assert [(x.subject, x.old, x.new) for x in there] == [(x.subject, x.new, x.old) for x in back]

    def test_nothing_changes_between_a_version_and_itself(self) -> None:
        assert told(changes("2.13.0", "2.13.0")) == ["nothing that the contract speaks of changes"]

    def test_a_kind_stands_for_all_its_architectures(self) -> None:
        assert {x.platform for x in changes("2.9.1", "2.10.0", "rocm")} == {"rocm/gfx942", "rocm/gfx950"}

    def test_a_change_is_one_line(self) -> None:
        assert told([Change("cpu/x86_64", "torch._scaled_mm", "a", "b")]) == ["cpu/x86_64  torch._scaled_mm: a → b"]

    def test_a_version_that_is_none_is_said(self) -> None:
        with pytest.raises(UsageError, match=r"a version of torch is wanted, such as 2\.13\.0, got 'new'"):
            changes("new", None)


def test_the_four_paths_of_the_field_each_have_expectations_of_their_own() -> None:
    names = ("cuda/sm90", "cuda/sm100", "rocm/gfx942", "rocm/gfx950", "xpu/bmg")
    owed = {
        tuple(describe_promise(promise_of(api, described(name, "2.12.1"), UPSTREAM)) for api in APIS) for name in names
    }

    assert len(owed) == len(names)
