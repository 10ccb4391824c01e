"""Whether a script shows what it is about: it is run here, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable

from conformance.scripting.script import Script

PATIENCE = 600
"""Seconds after which a script has shown nothing."""
WRONG = ("failed", "known-deviation")


def exit_code(text: str) -> int | None:
    """The exit code of the script ``text`` in a fresh process; None where it does not come to an end."""
    paths = os.pathsep.join(path for path in sys.path if path)
    try:
        done = subprocess.run(
            [sys.executable, "-c", text],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.returncode


def shown(scripts: Iterable[Script]) -> tuple[str, bool]:
    """The first of ``scripts`` that ends as it has to, and True; the first of all and False where none does."""
    first = ""
    for script in scripts:
        first = first or script.text(shows=False)
        if exit_code(script.text()) == _owed(script):
            return script.text(shows=True), True
    return first, False


def _owed(script: Script) -> int:
    line = script.account.line
    return int(line["verdict"] in WRONG or line.get("reason") == "contract-changed")
