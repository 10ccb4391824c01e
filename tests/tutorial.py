"""A document played through: its files are written, its commands typed, and what they print stands under them.

A block of ``python NAME`` is the file NAME. A block of ``console`` has commands behind ``$``, each with what it prints
to stdout. ``python tests/tutorial.py DOCUMENT`` plays a document in an empty folder and puts in what was printed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(?P<kind>python|console)(?: (?P<name>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)

MACHINE = re.compile(r"^cpu · .* · torch \S+")
"""The line that says where it ran."""


@dataclass(frozen=True)
class Step:
    """A command that the document types, what stands under it, and what it prints when it is typed."""

    command: str
    told: str
    printed: str


def play(
    document: str, folder: Path, environment: Mapping[str, str] | None = None
) -> Iterator[tuple[re.Match[str], list[Step]]]:
    """Play ``document`` in ``folder``, in this ``environment`` or ours: each block of commands, and its steps."""
    for block in BLOCK.finditer(document):
        if block["kind"] == "python":
            assert block["name"], "a block of Python is a file, and needs its name"
            (folder / block["name"]).write_text(block["text"], encoding="utf-8")
        else:
            commands = commands_in(block["text"])
            yield block, [Step(command, told, typed(command, folder, environment)) for command, told in commands]


def commands_in(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a block, and what stands under it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, told = part.partition("\n")
        yield command, told


def typed(command: str, folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """What a shell in ``folder`` prints to stdout for ``command``."""
    shell = ["bash", "-c", command]
    done = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def told_lines(text: str) -> list[str]:
    """The lines of ``text`` as far as no machine changes them, without what it took.

    The columns of a table are times and distances, and how wide they are changes with what stands in them.
    """
    told = []
    for line in text.splitlines():
        if line.startswith("time: "):
            continue
        is_row = line.startswith("  ") and not line.startswith("  conformance") and re.search(r"\d$|\d\s", line)
        told.append(line.split()[0] if is_row else MACHINE.sub("", " ".join(line.split())))
    return [line for line in told if line]


def retold(document: str, folder: Path) -> str:
    """``document`` with what its commands print now."""
    pieces, end = [], 0
    for block, steps in play(document, folder):
        told = "".join(f"$ {step.command}\n{step.printed}" for step in steps)
        pieces += [document[end : block.start("text")], told]
        end = block.end("text")
    return "".join([*pieces, document[end:]])


if __name__ == "__main__":
    path = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as empty:
        path.write_text(retold(path.read_text(encoding="utf-8"), Path(empty)), encoding="utf-8")
