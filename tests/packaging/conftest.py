"""The distributions, and an environment with the wheel alone: made once, whoever asks."""

from __future__ import annotations

import pytest
from installed import ROOT, Distributions, Installation


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    return Distributions.built_from(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def installation(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation.of(distributions.wheel, tmp_path_factory.mktemp("venv"))
