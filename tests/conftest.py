"""Keeps the tests of the tool out of the books of the job that runs them."""

from __future__ import annotations

import pytest

from conformance.ci.announce import ACTIONS, SUMMARY


@pytest.fixture(autouse=True)
def _no_job_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ACTIONS, raising=False)
    monkeypatch.delenv(SUMMARY, raising=False)
