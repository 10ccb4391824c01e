"""Commands that try the suite itself, what it catches, what others catch, how little it sees; and that tell of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from conformance.commands.app import app, put
from conformance.commands.options import Device, Json, Picture
from conformance.outputs import check_output, writing
from conformance.pictures import check_picture


@app.command()
def faults(
    workers: Annotated[Optional[int], typer.Option("-n", metavar="N", min=1, max=999, help="Worker processes.")] = None,  # noqa: UP045
    reduced: Annotated[bool, typer.Option("--reduced", help="Only the cases of profile quick.")] = False,
    report: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--report", metavar="FILE", help="Keep what is known so far there (JSON), step by step."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Set the seeded faults against every check: who kills whom. Exit code 1: a survivor, an idle check, an alarm."""
    if report is not None:
        check_output(report, "the matrix")
    from conformance.faults.matrix import matrix
    from conformance.faults.told import document, render, write

    found = matrix(workers, deeper=not reduced, keep=lambda found: write(found, report) if report else None)
    if as_json:
        put(document(found), True, list)
    else:
        render(found)
    raise typer.Exit(int(not found.is_proof))


@app.command()
def peers(
    small: Annotated[bool, typer.Option("--small", help="Only the small shape of each peer.")] = False,
    workers: Annotated[int, typer.Option("-n", metavar="N", min=1, max=999, help="Worker processes.")] = 1,
    device: Device = None,
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Run the seeded faults past the tests of the field, re-created: what each catches, misses, and cannot see."""
    check_picture(picture)
    from conformance.peers.census import as_sm90, census
    from conformance.peers.table import document, render
    from conformance.pictures import draw_peers
    from conformance.probe import parse_device

    where = parse_device(device)
    found = census(("small",) if small else ("small", "large"), device=where, build=as_sm90, workers=workers)
    if picture is not None:
        with writing(picture, "the picture"):
            draw_peers(document(found), picture)
    if as_json:
        put(document(found), True, list)
    else:
        render(found)


@app.command()
def sensitivity(device: Device = None, picture: Picture = None, as_json: Json = False) -> None:
    """Find the smallest gain, bias, wrong element, row and tile that each tier and each metric of the field detects."""
    check_picture(picture)
    from conformance.sensitivity import document, measure, render
    from conformance.sensitivity_picture import draw_sensitivity

    told = document(measure(device), device)
    if picture is not None:
        with writing(picture, "the picture"):
            draw_sensitivity(told, picture)
    if as_json:
        put(told, True, list)
    else:
        render(told)


@app.command()
def commands() -> None:
    """Print the reference of all commands (Markdown)."""
    from conformance.commands.page import page

    sys.stdout.write(page())
