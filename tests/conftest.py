"""The command line in this process, and nothing of the tests in the books of the job that runs them."""

from __future__ import annotations

import sys

import pytest
from made_reports import Command

from conformance.ci.announce import SUMMARY
from conformance.cli import main
from conformance.terminal import ACTIONS


@pytest.fixture(autouse=True)
def _no_job_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ACTIONS, raising=False)
    monkeypatch.delenv(SUMMARY, raising=False)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`conformance` in this process: exit code, stdout and stderr of a call with these arguments."""

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["conformance", *map(str, arguments)])
        with pytest.raises(SystemExit) as ending:
            main()
        assert isinstance(ending.value.code, int)
        return ending.value.code, *capsys.readouterr()

    return call
