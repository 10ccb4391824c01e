"""The page of a report: what it says without a script, how large it is, what a hostile report can do to it."""

from __future__ import annotations

import json
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from page_reports import ABOUT, HARMLESS, HOSTILE, SEEN, case, many, write, wrong

from conformance.diff.result import between
from conformance.diff.sides import Side
from conformance.errors import UsageError
from conformance.html import comparison
from conformance.html.causes import cause_of, causes
from conformance.html.embedded import Embedding
from conformance.html.grid import MAPS, grids
from conformance.html.headline import headline
from conformance.html.looks import CHANGES, VERDICTS
from conformance.html.page import to_html, write_page
from conformance.html.paths import exercises
from conformance.html.reproduction import Reproduction
from conformance.html.shapes import MOST, NONE, rows_of
from conformance.probe import PATHS
from conformance.records import FILE, PAGE, BadReportError, ReportWriter, read_report
from conformance.verdict import VERDICTS as ALL_VERDICTS

Line = dict[str, Any]


class Read(HTMLParser):
    """What a page shows without its script: the text, the tags with their attributes, and the data for the script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.data, self._inside = "", "", ""
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = f"{tag} {dict(attrs).get('type', '')}".strip()

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script application/json":
            self.data += data
        elif self._inside not in ("script", "style"):
            self.text += f" {data}"


def page_of(folder: Path, *lines: Line, **how: Any) -> str:
    write_page(write(folder, *lines, **how), folder / PAGE)
    return (folder / PAGE).read_text(encoding="utf-8")


def test_what_matters_can_be_read_without_a_script(tmp_path: Path) -> None:
    lines = [wrong(fault="b-leading-dimension", finding="B is read too far"), case("passed", "m1-n16-k128")]

    said = Read(page_of(tmp_path, *lines, said="WRONG: 1 of 2 cases failed")).text

    parts = (
        "✗ WRONG 1 of 2 cases failed",
        "device a CPU",
        "library 7.1",
        "conformance run --backend kernels:K",
        "sm90 – not exercised needs an NVIDIA Hopper GPU",
        "cpu ✗ computed there, 1 wrong 2 computed by k",
        "m1-n16-k128 ✓ 1",
        "m6-n256-k512 ✗ 1",
        "b-leading-dimension 1 case B is read too far",
        "columns 64 to 255 of rows 0 to 2",
        f"conformance explain {lines[0]['id']} --backend kernels:K",
    )
    assert [part for part in parts if part not in said] == []
    places = [said.index(part) for part in parts]
    assert places == sorted(places)


def test_every_verdict_and_every_change_looks_like_what_it_is() -> None:
    assert VERDICTS.keys() == {*ALL_VERDICTS}
    assert len({look.symbol for look in VERDICTS.values()}) == len(VERDICTS)
    assert {name for name, look in CHANGES.items() if look.tone == "good"} >= {"fixed", "confirmed", "new"}
    assert CHANGES["regressed"].tone == "bad"


@pytest.mark.parametrize("ended", [1, 2, 3])
def test_a_run_that_was_killed_is_incomplete_first_and_never_green(ended: int, tmp_path: Path) -> None:
    write(tmp_path, case("passed"), case("passed", seed=1), code=0, said="CONFORMS: 2 passed", plan={"cases": 5})
    kept = (tmp_path / FILE).read_text().splitlines(keepends=True)[:ended]
    (tmp_path / FILE).write_text("".join(kept))

    write_page(tmp_path, tmp_path / PAGE)
    page = Read((tmp_path / PAGE).read_text())

    assert page.text.index("INCOMPLETE") < page.text.index("What was judged")
    assert f"It judged {ended - 1} of 5 planned cases" in page.text
    assert ("header", {"class": "top open"}) in page.tags


@pytest.mark.parametrize(
    ("lines", "code", "word", "tone"),
    [
        ([case("passed")], 0, "CONFORMS", "good"),
        ([wrong()], 1, "WRONG", "bad"),
        ([case("error")], 3, "BROKEN", "bad"),
        ([case("not-run")], 4, "INCONCLUSIVE", "open"),
        ([wrong()], 0, "CONTRADICTORY", "bad"),
        ([case("not-run")], 0, "CONTRADICTORY", "bad"),
    ],
)
def test_only_a_run_that_conforms_is_green(lines: list[Line], code: int, word: str, tone: str, tmp_path: Path) -> None:
    told = headline(*read_report(write(tmp_path, *lines, code=code, said="")))

    assert (told.word, told.look.tone) == (word, tone)
    assert told.limits == ()


def test_a_part_of_the_plan_says_so(tmp_path: Path) -> None:
    how: Line = {"complete": False, "code": 0, "said": "CONFORMS: 1 passed"}
    selected = headline(*read_report(write(tmp_path, case("passed"), **how)))
    shard = headline(*read_report(write(tmp_path, case("passed"), shard="2/5", **how)))

    assert [told.limits[0].split(":")[0] for told in (selected, shard)] == [
        "a part of the plan",
        "shard 2/5 of the plan",
    ]
    assert (shard.word, shard.sentence) == ("CONFORMS", "1 passed")


@pytest.mark.parametrize(
    ("line", "state", "tone"),
    [
        (case("passed", path="sm90"), "computed there", "good"),
        (case("rejected", path="sm90"), "refused there", "calm"),
        (wrong(path="sm90"), "computed there, 1 wrong", "bad"),
        (case("failed", path="sm90", computed=False), "called there, 1 wrong", "bad"),
        (case("passed", path="sm90", model=True), "not exercised", "none"),
        (case("unsupported", path="sm90"), "not exercised", "none"),
        (case("passed", path="cpu"), "not exercised", "none"),
    ],
)
def test_a_path_is_exercised_by_real_calls_alone(line: Line, state: str, tone: str) -> None:
    found = exercises({"path": "sm90"}, [line])

    assert [each.path for each in found] == list(PATHS)
    assert (found[0].state, found[0].look.tone) == (state, tone)
    assert found[2].sentence == "needs an AMD GPU and a ROCm build of torch; this run was on sm90"


def test_a_path_that_was_required_and_not_exercised_is_an_open_question() -> None:
    found = {each.path: each for each in exercises({"path": "cpu", "require": ["rocm"]}, [case("passed")])}

    assert (found["rocm"].required, found["rocm"].look.tone) == (True, "open")
    assert (found["xpu"].required, found["xpu"].look.tone) == (False, "none")


def test_failures_are_grouped_by_fault_or_by_what_is_wrong_the_largest_first() -> None:
    lines = [
        case("known-deviation", seed=0, deviation="d", reason="raised"),
        case("failed", seed=1, reason="raised", detail="RuntimeError: 3 tiles of 1.5e+3"),
        case("failed", seed=2, reason="raised", detail="RuntimeError: 4 tiles of 7"),
        wrong(seed=3),
        wrong(seed=4, fault="f"),
        *(wrong(seed=seed, fault="f", shape="rows", backend="l") for seed in (5, 6, 7)),
        case("stale-deviation", seed=9, deviation="e"),
        case("passed", seed=10),
    ]

    found = causes(lines)

    assert [(cause.name, len(cause.members), cause.is_news) for cause in found] == [
        ("f", 4, True),
        ("raised · RuntimeError: … tiles of …", 2, True),
        ("wrong-values · columns", 1, True),
        ("stale-deviation e", 1, True),
        ("known-deviation d", 1, False),
    ]
    assert found[0].backends == {"k": 1, "l": 3}
    assert cause_of(lines[-1]) == ""


def test_the_example_of_a_cause_is_the_smallest_that_has_a_picture() -> None:
    without = {name: value for name, value in wrong("m1-n16-k128").items() if name != "picture"}

    (found,) = causes([without, wrong("m64-n256-k512"), wrong("m2-n256-k512")])

    assert found.members == [2, 1, 0]


def test_the_map_has_the_worst_verdict_of_each_shape_and_check() -> None:
    lines = [
        case("passed", scenario="layout/offset-1"),
        wrong(scenario="layout/offset-16"),
        case("rejected", "m1-n16-k128"),
        case("passed", "m1-n16-k128", backend="l"),
    ]

    first, second = grids(lines, rows_of(line["id"] for line in lines))

    assert (first.backend, first.rows, first.columns) == (
        "k",
        ["m1-n16-k128", "m6-n256-k512"],
        ["tagged-integers", "layout/*"],
    )
    cell = first.cells["m6-n256-k512", "layout/*"]
    assert (cell.verdict, cell.told) == ("failed", "1 failed, 1 passed")
    assert cell.href == "#backend=k&check=layout%2F%2A&shape=m6-n256-k512"
    assert [(place, cell.verdict) for place, cell in second.cells.items()] == [
        (("m1-n16-k128", "tagged-integers"), "passed")
    ]
    assert len(grids([case("passed", backend=str(x)) for x in range(9)], {"m6-n256-k512": "r"})) == MAPS


def test_many_shapes_are_put_into_groups_that_kernels_treat_alike() -> None:
    few = [f"/m{m}-n128-k512/" for m in range(1, MOST + 1)]
    extra = ["/m65-n129-k128/", "/m0-n16-k513/", "generated/s0"]

    assert [*rows_of([*few, "generated/s0"]).values()][-2:] == [f"m{MOST}-n128-k512", NONE]
    assert list(dict.fromkeys(rows_of([*few, *extra]).values())) == [
        "M ≤ 1 · N ≤ 128 · K blocks in fours",
        "M ≤ 1 · N ≤ 128 · other K blocks",
        "M 2–64 · N ≤ 128 · K blocks in fours",
        "M 65–256 · N > 128 · 1 K block",
        NONE,
    ]


def test_lines_to_paste_run_the_same_thing_again_and_nothing_else() -> None:
    about = {**ABOUT, "seed": 7, "command": ["conformance", "run", "--device", "cpu"], "backends": {"k": {}, "a;b": {}}}
    again = Reproduction(about)

    assert again.of(case("failed", reproduce="gemm/smaller"))[0] == (
        "conformance run --backend kernels:K --case gemm/smaller --seed 7 --device cpu"
    )
    run, explain = map(shlex.split, again.of({"backend": "a;b", "id": "$(rm x) '{id}"}))
    assert run[:6] == ["conformance", "run", "--backend", "a;b", "--case", "$(rm x) '{id}"]
    assert explain[:5] == ["conformance", "explain", "$(rm x) '{id}", "--backend", "a;b"]
    assert Reproduction({**about, "backends": {"a → k": {}}}).specs == {"a → k": "kernels:K"}


@pytest.mark.parametrize("failing", [700, 10_000])
def test_ten_thousand_cases_fit_into_two_mebibytes(failing: int, tmp_path: Path) -> None:
    page = page_of(tmp_path, *many(10_000, failing=failing), backends={"k": {}, "l": {}})

    data = json.loads(Read(page).data)
    assert (len(page.encode()) < 2 << 20, data["count"]) == (True, 10_000)
    assert len(data["columns"].get("first", ())) >= min(failing, 500)


def test_every_cause_and_every_change_keeps_an_example_where_there_is_no_room_for_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conformance.html.embedded.EVIDENCE", 4_000)
    common = many(60, failing=60)
    rare = {**common[-1], "id": "gemm/rare", "check": "rare", "fault": "rare", "finding": "seen once, and at length"}
    new = write(tmp_path / "new", *common, rare, case("passed"))
    old = write(tmp_path / "old", *({**line, "verdict": "passed"} for line in (*common, rare)))

    found = between(Side.read(old), Side.read(new))
    pages = (to_html(*read_report(new)), comparison.to_html(found, Side.read(new)))

    for data in (json.loads(Read(page).data) for page in pages):
        findings = {data["strings"][place] for place in data["columns"]["finding"].values()}
        assert "seen once, and at length" in findings
        assert len(data["columns"]["cut"]) > 40


def test_a_report_is_data_and_never_markup(tmp_path: Path) -> None:
    line = {
        **wrong(fault=HOSTILE, finding=HOSTILE, where=HOSTILE, reason=HOSTILE),
        "backend": HOSTILE,
        "check": HOSTILE,
    }
    line |= {"id": HOSTILE, "detail": HOSTILE, "path": HOSTILE}
    about = dict.fromkeys(("torch", "device_name", "profile", "suite", "driver", "shard"), HOSTILE)

    page = page_of(
        tmp_path, line, said=f"WRONG: {HOSTILE}", backends={HOSTILE: {HOSTILE: HOSTILE}}, command=[HOSTILE], **about
    )

    read = Read(page)
    assert not {"img", "iframe", "object"} & {tag for tag, _ in read.tags}
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on") or name == "style"]
    assert [tag for tag, _ in read.tags].count("script") == 2
    assert not {"\u202e", "\x1b"} & {*page}
    assert HARMLESS in read.text
    assert HARMLESS in json.loads(read.data)["strings"]


@pytest.mark.parametrize(
    "picture", [3, {}, {"size": [1], "cell": [1, 1], "rows": []}, {**SEEN["picture"], "rows": [1]}]
)
def test_a_damaged_picture_is_left_out(picture: Any) -> None:
    lines = [wrong(picture=picture, first_wrong=["?"], rel_diff=float("nan")), wrong(seed=1)]

    found = Embedding(lines).document([])

    assert (found["columns"]["picture"], found["columns"]["first"].keys()) == ({1: 0}, {1})
    assert "rel_diff" not in found["columns"]


def test_nothing_is_loaded_and_only_our_own_script_may_run(tmp_path: Path) -> None:
    page = page_of(tmp_path, wrong())

    tags = Read(page).tags
    (policy,) = [found["content"] for _, found in tags if found.get("http-equiv") == "Content-Security-Policy"]
    addresses = [value or "" for _, found in tags for name, value in found.items() if name in ("src", "href")]
    assert [address for address in addresses if not address.startswith(("#", "data:image/svg+xml,"))] == []
    assert policy is not None
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    write(tmp_path, case("passed"))
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()

    for page in (tmp_path / "none" / "x.html", tmp_path / "taken"):
        with pytest.raises(UsageError, match="cannot be written"):
            write_page(tmp_path, page)
    with pytest.raises(BadReportError):
        write_page(tmp_path / "none", tmp_path / PAGE)
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE, "taken"]


def test_the_page_of_an_earlier_run_goes_when_the_next_one_starts(tmp_path: Path) -> None:
    page_of(tmp_path, case("passed"), code=0, said="CONFORMS: 1 passed")

    ReportWriter(tmp_path).close()

    assert not (tmp_path / PAGE).exists()


@pytest.mark.parametrize("odd", [None, 3, "text", [1], {"a": 1}])
def test_members_of_another_form_harm_no_page(odd: Any, tmp_path: Path) -> None:
    elements = [dict.fromkeys(("row", "column", "actual", "expected", "actual_bits", "expected_bits"), odd)]
    line = {**wrong(), "picture": dict.fromkeys(("size", "cell", "rows"), odd), "first_wrong": elements}
    header = {"driver": odd, "plan": {"cases": odd, "digest": odd}}

    unfinished = page_of(tmp_path, line, ended=False, **header)
    ended = page_of(tmp_path, line, backends={"k": {"cublas": odd}}, **header)

    assert (">INCOMPLETE" in unfinished, ">WRONG" in ended) == (True, True)
    # That of the run, and that of the case.
    assert sum(text.startswith("conformance run") for text in ended.split("<code>")) == 2
