"""The application that commands register with, and how they print."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import typer

app = typer.Typer(
    help="Judge block-scaled FP8 matmul: torch._scaled_mm and any other backend.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def put(document: Any, as_json: bool, lines: Callable[[], list[str]]) -> None:
    """Print ``document`` as JSON, or the ``lines`` for people."""
    text = json.dumps(document, indent=2) if as_json else "\n".join(lines())
    sys.stdout.write(text + "\n")
