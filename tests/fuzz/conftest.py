"""The command line in this process, where whatever is malformed has to end in one sentence and leave nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import typer.main
from surface import Judge, changes, is_one_sentence, tree

from conformance.cli import app, main

WITHOUT_A_CASE = 5
"""What pytest ends with where nothing was selected."""


@pytest.fixture(scope="session")
def commands() -> object:
    """All commands, built once: that takes longer than most of what is asked here."""
    return typer.main.get_command(app)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def answered(
    place: Path, commands: object, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Judge:
    """The exit code of a command; fails where a wrong call ends otherwise than in one sentence, or leaves something.

    What `run` is asked for is checked as ever, and then nothing is run: exit code 4 says that it would have been. What
    a right call ``writes`` starts with that.
    """
    monkeypatch.setattr("conformance.cli.app", commands)
    monkeypatch.setattr("conformance.runner.pytest.main", lambda *given, **more: WITHOUT_A_CASE)

    def call(*arguments: str | os.PathLike[str], writes: str | None = None) -> int:
        before = tree(place.parent)
        monkeypatch.setattr(sys, "argv", ["conformance", *map(os.fspath, arguments)])
        with pytest.raises(SystemExit) as ending:
            main()
        out, err = capfd.readouterr()
        code = ending.value.code
        changed = changes(before, tree(place.parent))

        said = f"{arguments!r}: {code}\n{out[-300:]}\n{err[-900:]}"
        assert code in (0, 1, 2, 4), said
        assert "Traceback" not in out + err, said
        assert all(char.isprintable() or char == "\n" for char in out + err), said
        if code == 2:
            assert (out, changed) == ("", set()), said
            assert is_one_sentence(err), said
        assert all(writes is not None and name.startswith(f"here/{writes}") for name in changed), said
        assert isinstance(code, int)
        return code

    return call
