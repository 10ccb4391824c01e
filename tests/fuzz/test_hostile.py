"""Reports are data: what would be markup, or would steer a terminal, stays a text wherever it is shown."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from made_reports import about, line, write
from surface import Judge

from conformance.ci.announce import SUMMARY
from conformance.terminal import ACTIONS

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "--><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    '" autofocus onfocus="alert(1)',
    "javascript:alert(1)",
    "![x](https://example.org/x)[y](javascript:alert(1))",
    "a|b|\n|---|\n# head\n\n```\n@everyone #1 GH-1",
    "\x1b[2J\x1b]8;;https://example.org\x07\x1b]0;owned\x07",
    "\u202egreen\u2066\u200b\ufeff",
    "::error file=x::owned\n::set-output name=x::y%0A",
    "]]>&bomb;<!ENTITY x>\x00\x08\ufffe",
    "{{ 7*7 }}{% raw %}${7*7}",
    "\ud800x\udfff",
    "x" * 20_000,
)
ACTIVE = ("script", "img", "iframe", "object", "embed", "link", "base", "form", "meta", "svg")


class Elements(HTMLParser):
    """Counts what a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.active: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.active[tag] += tag in ACTIVE
        for name, value in attrs:
            self.active[name] += name.startswith("on") or name in ("srcdoc", "autofocus")
            if name in ("href", "src", "action"):
                self.active[f"to {(value or '').partition(':')[0]}"] += ":" in (value or "")


def acted_on(page: Path) -> Counter[str]:
    elements = Elements()
    elements.feed(page.read_text(encoding="utf-8"))
    return +elements.active


def said_by(text: str) -> tuple[Any, ...]:
    """A report every text of which that is free is this one."""
    free = ("detail", "deviation", "path", "check", "recipe", "shape", "where", "fault", "finding", "reproduce", "tier")
    more = {"expected": text, "reason": text, "arithmetic": text, **dict.fromkeys(free, text)}
    element = dict.fromkeys(("actual", "expected", "actual_bits", "expected_bits"), text)
    picture = {"size": [5, 144], "cell": [1, 8], "rows": [text] * 5}
    wrong = line("failed", text, **more, picture=picture, first_wrong=[{"row": 0, "column": 0, **element}])
    lines = [{**each, "backend": text} for each in (wrong, line("unsupported", f"{text}2", **more))]
    names = ("suite", "torch", "path", "arch", "profile", "device", "device_name", "driver", "runtime", "python")
    header = about(*((each["backend"], each["id"]) for each in lines), **dict.fromkeys(names, text), shard="1/1")
    about_texts = {"backends": {text: {text: text}}, "specs": {text: text}, "command": [text], "require": [text]}
    return {**header, **about_texts, "owing": [text]}, *lines


@pytest.fixture
def tame(place: Path, answered: Judge) -> Counter[str]:
    write(place / "tame", *said_by("tame"), code=1)
    answered("show", "tame", "--html", "tame.html", writes="tame.html")
    return acted_on(place / "tame.html")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_of_a_report_stays_a_text(
    text: str, place: Path, answered: Judge, tame: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(place / "bad", *said_by(text), code=1)
    write(place / "other", *said_by("other"), code=1)
    # `answered` holds whatever is printed to what a terminal shows as it is.
    assert answered("show", "bad", "--html", "shown.html", writes="shown.html") == 1
    assert answered("show", "bad", "--json") == 1
    assert answered("diff", "other", "bad", "--html", "compared.html", writes="compared.html") in (1, 4)
    assert answered("merge", "bad", "--report", "merged", writes="merged") == 1

    for page in ("shown.html", "merged/report.html"):
        assert acted_on(place / page) == tame
    assert set(acted_on(place / "compared.html")) <= set(tame)
    ET.parse(place / "merged" / "junit.xml")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_comment_has_no_markup_but_its_own(
    text: str, place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from conformance.diff.markdown import render
    from conformance.diff.result import between
    from conformance.diff.sides import Side, paired

    write(place / "bad", *said_by(text), code=1)
    write(place / "other", *said_by("other"), code=1)
    comment = render(between(*paired(Side.read(place / "other"), Side.read(place / "bad"), None)))

    assert set(re.findall(r"<[^>]*>", comment)) <= {"<code>", "</code>", "<details>", "</details>"} | set(
        re.findall(r"</?summary>", comment)
    )
    assert "](" not in comment
    assert "@everyone" not in comment
    assert max(map(len, comment.splitlines())) < 20_000


def test_annotations_and_the_summary_of_a_job_take_no_orders(
    place: Path, answered: Judge, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from conformance.cli import main

    monkeypatch.setenv(ACTIONS, "true")
    monkeypatch.setenv(SUMMARY, str(place / "summary.md"))
    write(place / "bad", *said_by("::error file=x::owned\n::set-output name=x::y ##[error]z"), code=1)
    monkeypatch.setattr("sys.argv", ["conformance", "merge", "bad", "--report", "merged"])
    with pytest.raises(SystemExit):
        main()
    printed = capfd.readouterr()

    printed_lines = [text.strip() for text in (printed.out + printed.err).splitlines()]
    orders = [text for text in printed_lines if text.startswith("::") or "##[" in text]
    assert orders
    assert all(re.match(r"::(error|warning|notice) title=", order) for order in orders), orders
    assert not re.search(r"^\s*::", (place / "summary.md").read_text(), re.MULTILINE)
