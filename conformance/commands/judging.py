"""Commands that judge, and that say what would be judged."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from conformance.commands.app import app, put
from conformance.commands.options import (
    Backends,
    BaselineFile,
    Cases,
    Deviations,
    Device,
    Examples,
    Json,
    Keyword,
    Linears,
    Model,
    On,
    Profile,
    Quantisers,
    Quarantined,
    Ranks,
    Report,
    Require,
    Resume,
    Seed,
    ShardOf,
    Timeout,
    Torch,
    Workers,
)
from conformance.errors import UsageError
from conformance.isolation.limits import DEFAULT


@app.command()
def run(
    context: typer.Context,
    backend: Backends = None,
    device: Device = None,
    profile: Profile = "standard",
    keyword: Keyword = None,
    case: Cases = None,
    seed: Seed = 0,
    workers: Workers = None,
    timeout: Timeout = DEFAULT,
    require: Require = None,
    report: Report = Path("conformance-report"),
    model: Model = None,
    tp: Ranks = 1,
    examples: Examples = None,
    deviations: Deviations = None,
    quarantined: Quarantined = False,
    shard: ShardOf = None,
    baseline: BaselineFile = None,
    quantiser: Quantisers = None,
    linear: Linears = None,
    resume: Resume = None,
) -> None:
    """Judge backends, quantisers and linears.

    Exit code: 0 conforms, 1 wrong, 2 misused, 3 harness failed, 4 inconclusive.
    """
    from conformance.request import Request
    from conformance.resuming.asked import Asked, members_called
    from conformance.runner import resume_suite, run_suite
    from conformance.shards.share import Shard

    chosen: dict[str, Any] = {"cases": tuple(case or ()), "model": model, "tp": tp, "examples": examples}
    chosen |= {"deviations": tuple(deviations or ()), "quarantined": quarantined}
    chosen |= {"shard": Shard.parse(shard) if shard is not None else None, "baseline": baseline}
    chosen |= {"quantisers": tuple(quantiser or ()), "linears": tuple(linear or ())}
    request = Request(tuple(backend or ()), device, profile, seed, report, tuple(require or ()), **chosen)
    if resume is None:
        raise typer.Exit(run_suite(request, keyword=keyword, workers=workers, timeout=timeout))
    words = _typed(context)
    if "report" in words and report.resolve() != resume.resolve():
        raise UsageError(f"--resume {resume} goes on with the report in there: leave --report out")
    typed = Asked(request, keyword or "")
    raise typer.Exit(resume_suite(resume, typed, members_called(words), workers=workers, timeout=timeout))


def _typed(context: typer.Context) -> set[str]:
    """The parameters that were given, and are not at their defaults for want of a word."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name != "DEFAULT"}


@app.command("list")
def list_cases(
    backend: Backends = None,
    profile: Profile = "standard",
    keyword: Keyword = None,
    model: Model = None,
    tp: Ranks = 1,
    examples: Examples = None,
    on: On = None,
    torch: Torch = None,
    quantiser: Quantisers = None,
    linear: Linears = None,
    as_json: Json = False,
) -> None:
    """Print the planned cases, one id a line; launches nothing."""
    from conformance.listing import planned
    from conformance.request import Request

    asked: dict[str, Any] = {"quantisers": tuple(quantiser or ()), "linears": tuple(linear or ())}
    request = Request(tuple(backend or ()), profile=profile, model=model, tp=tp, examples=examples, **asked)
    document = planned(request, keyword, on=on, torch_version=torch)
    put(document, as_json, lambda: [*(case["id"] for case in document["cases"]), *document["generated"]])


@app.command()
def doctor(
    shape: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--shape", metavar="M,N,K", help="Say what will become of this product; repeat for more."),
    ] = None,
    on: On = None,
    torch: Torch = None,
    as_json: Json = False,
) -> None:
    """Say what this machine is, what can be exercised here, and what is known to be broken; launches nothing."""
    from conformance.doctor import examine
    from conformance.doctor_tables import render

    findings = examine(tuple(shape or ()), on=on, torch_version=torch)
    if as_json:
        put(findings, True, list)
    else:
        render(findings)


@app.command()
def contract(
    old: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--from", metavar="VERSION", help="Only what changes from this torch, on every platform."),
    ] = None,
    new: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--to", metavar="VERSION", help="The torch to change to; default: this one."),
    ] = None,
    on: On = None,
    as_json: Json = False,
) -> None:
    """Print what torch owes by platform and version, with sources (Markdown), or what changes between two versions."""
    from conformance.contract.changes import changes, told
    from conformance.contract.page import page

    if old is None and new is None:
        if on is not None or as_json:
            raise UsageError("--on and --json belong to a comparison: name the torch to compare with in --from")
        sys.stdout.write(page())
        return
    found = changes(old, new, on)
    put([asdict(change) for change in found], as_json, lambda: told(found))
