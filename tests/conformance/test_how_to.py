"""The how-to pages, typed: what stands under their commands is what they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tutorial import play, told_lines

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "how-to"
PAGES = sorted(FOLDER.glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_prints_what_stands_under_it(page: Path, tmp_path: Path) -> None:
    steps = [step for _, block in play(page.read_text(encoding="utf-8"), tmp_path) for step in block]

    assert steps, f"{page.name} types no command"
    for step in steps:
        again = f"{step.command}: run python tests/tutorial.py docs/how-to/{page.name}"
        assert told_lines(step.printed) == told_lines(step.told), again


def test_every_page_is_found_from_the_front_page() -> None:
    front = (FOLDER.parents[1] / "README.md").read_text(encoding="utf-8")

    assert [page.name for page in PAGES if f"docs/how-to/{page.name}" not in front] == []


def test_every_link_of_a_page_leads_somewhere() -> None:
    for page in [FOLDER.parents[1] / "README.md", *FOLDER.parent.rglob("*.md")]:
        links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == [], page.name
