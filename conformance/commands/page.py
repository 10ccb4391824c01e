"""docs/commands.md, written from the commands themselves: `conformance commands` prints it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer.main

from conformance.commands.app import app
from conformance.markdown import table

HEAD = """# Commands

<!-- Written by `conformance commands`; edit conformance/commands and run `conformance commands > docs/commands.md`. -->

`python -m conformance` is the same as `conformance`. Results go to stdout, progress to stderr; `--json` prints one JSON
document and nothing else. A wrong option, path, id, backend or file is answered with one sentence and exit code 2.
"""


def commands() -> dict[str, Any]:
    """Every command that is shown in the help, by name, as click has it."""
    group: Any = typer.main.get_command(app)
    return {name: command for name, command in group.commands.items() if not command.hidden}


def page() -> str:
    """The whole page, as Markdown."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield HEAD
    for name, command in commands().items():
        yield f"## {name}\n"
        yield f"{command.help}\n"
        rows = [_row(parameter) for parameter in command.params]
        if rows:
            yield from table(("argument or option", "default", "meaning"), rows)


def _row(parameter: Any) -> tuple[str, str, str]:
    said = parameter.help or ""
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar}`", "needed" if parameter.required else "", said
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.type.name.upper()}"
    default = "" if parameter.default in (None, False) else f"`{parameter.default}`"
    return f"`{', '.join(parameter.opts)}{value}`", default, said
