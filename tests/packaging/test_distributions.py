"""What the wheel and the sdist carry."""

from __future__ import annotations

import configparser
import re
from pathlib import Path

import pytest
from installed import ROOT, Distributions
from packaging.requirements import Requirement
from packaging.version import Version

PACKAGES = ("cases", "conformance", "reference")


@pytest.fixture(scope="module")
def files(distributions: Distributions) -> dict[str, bytes]:
    return distributions.files()


def test_the_wheel_carries_every_file_of_the_packages_and_nothing_else(files: dict[str, bytes]) -> None:
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()]
    there = {path.relative_to(ROOT).as_posix() for path in paths if path.parent.name != "__pycache__"}

    assert there >= {"conformance/suite/test_products.py", "cases/recordings/h200-cublas-13.1.0.3.json"}
    assert {name for name in files if ".dist-info/" not in name} == there


def test_the_wheel_is_small_and_typed(distributions: Distributions, files: dict[str, bytes]) -> None:
    assert distributions.wheel.stat().st_size < 6 << 20
    assert {f"{package}/py.typed" for package in PACKAGES} <= set(files)


def test_the_plugin_is_an_entry_point_of_its_own_name(files: dict[str, bytes]) -> None:
    (text,) = (text.decode() for name, text in files.items() if name.endswith("/entry_points.txt"))

    assert re.search(r"\[pytest11\]\nconformance\.plugin = conformance\.plugin\n", text)


def test_the_sdist_gives_the_same_wheel(distributions: Distributions, tmp_path: Path) -> None:
    (tmp_path / "sdist").mkdir()
    again = Distributions.built_from(distributions.unpacked(tmp_path / "sdist"), tmp_path / "dist")

    assert again.files() == distributions.files()


def test_the_oldest_of_everything_is_what_is_tried(files: dict[str, bytes]) -> None:
    (metadata,) = (text.decode() for name, text in files.items() if name.endswith("/METADATA"))
    needed = [Requirement(text) for text in re.findall(r"^Requires-Dist: (.*)$", metadata, re.MULTILINE)]
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(ROOT / "tox.ini")
    tried = {pin.name: pin.specifier for pin in map(Requirement, settings["testenv:oldest"]["deps"].split())}

    for each in needed:
        if each.marker is None and each.name != "torch":
            ((bound,), (pin,)) = each.specifier, tried[each.name]
            # The last fix of the oldest may be what runs on a current Python.
            assert (bound.operator, pin.operator) == (">=", "==")
            assert Version(pin.version).release[:2] == (*Version(bound.version).release, 0)[:2]
