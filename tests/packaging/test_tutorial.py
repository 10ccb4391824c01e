"""The tutorial, typed where there is the wheel alone: what stands under its commands is what they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from installed import Installation
from tutorial import BLOCK, Step, play, told_lines

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"


@pytest.fixture(scope="module")
def steps(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    played = play(PAGE.read_text(encoding="utf-8"), tmp_path_factory.mktemp("empty"), installation.environment)
    return [step for _, block in played for step in block]


def test_every_command_prints_what_stands_under_it(steps: list[Step]) -> None:
    assert len(steps) == 4
    for step in steps:
        assert told_lines(step.printed) == told_lines(step.told), (
            f"{step.command}: run python tests/tutorial.py docs/tutorial.md"
        )


def test_it_goes_from_red_to_green(steps: list[Step]) -> None:
    verdicts = [re.search(r"^(WRONG|CONFORMS): .*$", step.printed, re.MULTILINE) for step in steps[:3]]

    assert [found and found[1] for found in verdicts] == ["WRONG", "WRONG", "CONFORMS"]
    assert steps[2].printed.endswith("green\n")


def test_the_first_kernel_has_five_lines() -> None:
    first = next(block for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")) if block["kind"] == "python")

    assert len(first["text"].splitlines()) <= 5
