"""The counts that docs/cases.md gives are those of the plan."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cases import plan
from cases.plan import Profile, sections

PAGE = (Path(__file__).parents[2] / "docs" / "cases.md").read_text(encoding="utf-8")
PROFILES: tuple[Profile, ...] = ("quick", "standard", "full")


@pytest.mark.parametrize("name", sections("full"))
def test_every_section_has_its_row(name: str) -> None:
    row = re.search(rf"^\| `{name}` \|.*\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", PAGE, re.MULTILINE)

    assert row is not None
    counts = tuple(f"{len(sections(profile).get(name, ())):,}" for profile in PROFILES)
    assert row.groups() == counts


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_has_its_sum(profile: Profile) -> None:
    count = f"{len(plan(profile)):,}"

    assert f"| `{profile}` | {count} |" in PAGE
    assert f"**{count}**" in PAGE
