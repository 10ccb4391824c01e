"""The tutorial, typed where there is the wheel alone: what stands under its commands is what they print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from installed import Installation
from tutorial import BLOCK, Step, play

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
MACHINE = re.compile(r"^cpu · .* · torch \S+")
"""The line that says where it ran."""


def _told(text: str) -> list[str]:
    """The lines of ``text`` as far as no machine changes them.

    The columns of a table are times and distances, and how wide they are changes with what stands in them.
    """
    told = []
    for line in text.splitlines():
        is_row = line.startswith("  ") and not line.startswith("  conformance") and re.search(r"\d$|\d\s", line)
        told.append(line.split()[0] if is_row else MACHINE.sub("", " ".join(line.split())))
    return [line for line in told if line]


@pytest.fixture(scope="module")
def steps(installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    played = play(PAGE.read_text(encoding="utf-8"), tmp_path_factory.mktemp("empty"), installation.environment)
    return [step for _, block in played for step in block]


def test_every_command_prints_what_stands_under_it(steps: list[Step]) -> None:
    assert len(steps) == 4
    for step in steps:
        assert _told(step.printed) == _told(step.told), f"{step.command}: run python tests/tutorial.py docs/tutorial.md"


def test_it_goes_from_red_to_green(steps: list[Step]) -> None:
    verdicts = [re.search(r"^(WRONG|CONFORMS): .*$", step.printed, re.MULTILINE) for step in steps[:3]]

    assert [found and found[1] for found in verdicts] == ["WRONG", "WRONG", "CONFORMS"]
    assert steps[2].printed.endswith("green\n")


def test_the_first_kernel_has_five_lines() -> None:
    first = next(block for block in BLOCK.finditer(PAGE.read_text(encoding="utf-8")) if block["kind"] == "python")

    assert len(first["text"].splitlines()) <= 5
