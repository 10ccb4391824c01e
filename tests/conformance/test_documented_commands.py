"""Command lines of the documents are command lines that there are, and the reference is what the commands say."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cli import app
from conformance.commands.page import commands, page

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:PYTHONPATH=\. )?conformance [a-z][^`\n]*)`")
STOPS = ("&&", "||", "|", ">", ";", "2>", "&")


def _written() -> Iterator[tuple[str, str]]:
    """(document, command line) of everything in the documents that starts our command."""
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        blocks = [line for block in SHELL.findall(text) for line in block.replace("\\\n", " ").splitlines()]
        for line in [*blocks, *INLINE.findall(text)]:
            for words in _commands_in(shlex.split(line, comments=True)):
                yield document.name, shlex.join(words)


def _commands_in(words: list[str]) -> Iterator[list[str]]:
    """The words behind each ``conformance`` of a line that stands where a command does."""
    for i, word in enumerate(words):
        at_start = i == 0 or words[i - 1] in STOPS or words[i - 1].startswith("PYTHONPATH=")
        if word == "conformance" and at_start:
            rest = words[i + 1 :]
            end = next((j for j, each in enumerate(rest) if each in STOPS), len(rest))
            yield rest[:end]


WRITTEN = sorted(set(_written()))


def test_the_documents_show_commands() -> None:
    shown = {line.split()[0] for _, line in WRITTEN}

    assert shown == set(commands())


@pytest.mark.parametrize(("document", "line"), WRITTEN, ids=[f"{name}: {line}" for name, line in WRITTEN])
def test_every_command_line_of_the_documents_is_one(document: str, line: str) -> None:
    name, *arguments = shlex.split(line)

    assert name in commands(), f"{document} names a command that there is not"
    known = {option for parameter in commands()[name].params for option in parameter.opts}
    assert {word.split("=")[0] for word in arguments if word.startswith("-")} <= known
    # Where a sentence names a command alone, or with an option, its arguments may be missing.
    commands()[name].make_context(name, arguments, resilient_parsing=not arguments or arguments[-1][:1] == "-")


def test_the_reference_is_what_the_commands_say() -> None:
    told = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")

    assert told == page(), "run: conformance commands > docs/commands.md"


def test_the_reference_has_every_option_of_every_command() -> None:
    text = page()

    assert app.registered_commands
    for name, command in commands().items():
        section = text.split(f"## {name}\n")[1].split("\n## ")[0]
        assert all(option in section for parameter in command.params for option in parameter.opts if option[0] == "-")
