"""Commands about single kernels: a file to start from, and what kernels are: arithmetic, speed, bits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from conformance.commands.app import app, put
from conformance.commands.options import Backends, Device, Json, Model, Picture, Ranks, Seed
from conformance.conclude import INCONCLUSIVE
from conformance.outputs import writing
from conformance.pictures import check_picture


@app.command("new-backend")
def new_backend(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The file to write, or the folder to write it to.")],
    as_class: Annotated[
        bool, typer.Option("--class", help="Write a class with everything that it may declare.")
    ] = False,
) -> None:
    """Write a kernel to start from: right as it stands, and judged by the command that is printed."""
    from conformance.backends.starting import next_command, start_backend

    file = start_backend(path, "class" if as_class else "function")
    sys.stdout.write(f"{file} has a kernel that is right as it stands; judge it with\n\n  {next_command(file)}\n")


@app.command()
def probe(backend: Backends = None, device: Device = None, as_json: Json = False) -> None:
    """Ask backends which arithmetic they have, with products that tell."""
    from conformance.probing import probe_backends, render

    documents = probe_backends(tuple(backend or ()), device)
    if as_json:
        put(documents, True, list)
    else:
        render(documents)


@app.command()
def bench(
    backend: Backends = None,
    device: Device = None,
    part: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--part", metavar="PART", help="Only layers, padding or engines; repeat for more."),
    ] = None,
    model: Model = None,
    tp: Ranks = 1,
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Time kernels on real layers, what padding M costs, and the engines of the bit model, side by side."""
    check_picture(picture)
    from conformance.benching.document import bench as run_bench
    from conformance.benching.picture import draw_bench
    from conformance.benching.tables import render
    from conformance.request import Request

    document = run_bench(Request(tuple(backend or ()), device, model=model, tp=tp), tuple(part or ()))
    if picture is not None:
        with writing(picture, "the picture"):
            draw_bench(document, picture)
    if as_json:
        put(document, True, list)
    else:
        render(document)


@app.command()
def record(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the recordings (JSON).")],
    backend: Backends = None,
    device: Device = None,
    seed: Seed = 0,
) -> None:
    """Record what real kernels return here, as raw bits, to hold the model against on any machine."""
    from conformance.recorder import record as record_backends
    from conformance.request import Request

    count = record_backends(Request(tuple(backend or ()), device, seed=seed), out)
    if not count:
        sys.stderr.write("conformance: INCONCLUSIVE: nothing was recorded, since no backend computes a product here\n")
        raise typer.Exit(INCONCLUSIVE)
    sys.stdout.write(f"{count} recordings in {out}\n")
