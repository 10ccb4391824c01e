"""The command line. Importing it, and `--help`, need no torch."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NoReturn, Optional

import typer

from conformance.conclude import INCONCLUSIVE, MISUSED
from conformance.errors import UsageError
from conformance.processors import wait_politely

app = typer.Typer(
    help="Judge block-scaled FP8 matmul: torch._scaled_mm and any other backend.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

# typer reads these annotations at run time, and Python 3.10 has to understand them.
Backends = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--backend", metavar="B", help="Backend: a built-in name, an entry point, or package.module:attribute."
    ),
]
Device = Annotated[Optional[str], typer.Option(metavar="D", help="torch device; default: this machine's accelerator.")]  # noqa: UP045
Profile = Annotated[str, typer.Option(metavar="P", help="quick, standard or full.")]
Cases = Annotated[Optional[list[str]], typer.Option("--case", metavar="ID", help="One case; repeat for more.")]  # noqa: UP045
Require = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(metavar="PATH", help="Platform path that must be exercised: sm90, non_sm90, rocm, xpu, mps, cpu."),
]
Seed = Annotated[int, typer.Option(metavar="S", help="Suite seed.")]
Keyword = Annotated[Optional[str], typer.Option("-k", metavar="EXPR", help="Only cases that match, as pytest -k.")]  # noqa: UP045
Workers = Annotated[Optional[str], typer.Option("-n", metavar="N", help="Worker processes, or auto.")]  # noqa: UP045
Report = Annotated[Path, typer.Option(metavar="DIR", help="Folder for report.jsonl and junit.xml.")]
Model = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(metavar="CONFIG_JSON", help="Judge the layers of this Hugging Face configuration, not a profile's."),
]
Ranks = Annotated[int, typer.Option("--tp", metavar="N", help="Tensor-parallel ranks that the model is cut for.")]
Examples = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(metavar="COUNT", help="Generated cases, in batches of 100; the profile says how many otherwise."),
]
Deviations = Annotated[
    Optional[list[Path]],  # noqa: UP045
    typer.Option(metavar="FILE", help="Ledger of known deviations, beside the shipped one; repeat for more."),
]
Quarantined = Annotated[bool, typer.Option("--quarantined", help="Run the cases that could harm the device, too.")]
On = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--on", metavar="KIND/ARCH", help="Describe that platform (cuda/sm90) instead of this machine's."),
]
Torch = Annotated[Optional[str], typer.Option("--torch", metavar="VERSION", help="Describe that torch, not this one.")]  # noqa: UP045
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


@app.command()
def run(
    backend: Backends = None,
    device: Device = None,
    profile: Profile = "standard",
    keyword: Keyword = None,
    case: Cases = None,
    seed: Seed = 0,
    workers: Workers = None,
    require: Require = None,
    report: Report = Path("conformance-report"),
    model: Model = None,
    tp: Ranks = 1,
    examples: Examples = None,
    deviations: Deviations = None,
    quarantined: Quarantined = False,
) -> None:
    """Judge backends. Exit code: 0 conforms, 1 wrong, 2 misused, 3 harness failed, 4 inconclusive."""
    from conformance.request import Request
    from conformance.runner import run_suite

    chosen: dict[str, Any] = {"cases": tuple(case or ()), "model": model, "tp": tp, "examples": examples}
    chosen |= {"deviations": tuple(deviations or ()), "quarantined": quarantined}
    request = Request(tuple(backend or ()), device, profile, seed, report, tuple(require or ()), **chosen)
    raise typer.Exit(run_suite(request, keyword=keyword, workers=workers))


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
    as_json: Json = False,
) -> None:
    """Print the planned cases, one id a line; launches nothing."""
    from conformance.listing import planned
    from conformance.request import Request

    request = Request(tuple(backend or ()), profile=profile, model=model, tp=tp, examples=examples)
    document = planned(request, keyword, on=on, torch_version=torch)
    _print(document, as_json, lambda: [*(case["id"] for case in document["cases"]), *document["generated"]])


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
        _print(findings, True, list)
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
    _print([asdict(change) for change in found], as_json, lambda: told(found))


@app.command()
def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A report, or the folder that it lies in.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The report to compare with it.")],
    across: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="A=B", help="Compare backend A of OLD with backend B of NEW, and nothing else."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the comment of a pull request.")] = False,
    as_json: Json = False,
) -> None:
    """Compare two reports. Exit code: 0 no regression, 1 a regression or lost coverage, 2 misused, 4 incomparable."""
    from conformance.diff import markdown as comment
    from conformance.diff.result import diff as diff_reports
    from conformance.diff.result import document
    from conformance.diff.tables import render

    if markdown and as_json:
        raise UsageError("--json and --markdown are two forms of the same: choose one")
    found = diff_reports(old, new, across)
    if as_json:
        _print(document(found), True, list)
    elif markdown:
        sys.stdout.write(comment.render(found))
    else:
        render(found)
    raise typer.Exit(found.code)


@app.command()
def explain(
    case: Annotated[list[str], typer.Argument(metavar="ID...", help="Case ids.")],
    backend: Backends = None,
    device: Device = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Run cases again and say what came: right, a named fault, another arithmetic, or unexplained."""
    from conformance.explain import explain as explain_cases
    from conformance.explain import render
    from conformance.request import Request

    documents = explain_cases(Request(tuple(backend or ()), device, seed=seed, cases=tuple(case)))
    if as_json:
        _print(documents, True, list)
    else:
        render(documents)


@app.command()
def probe(backend: Backends = None, device: Device = None, as_json: Json = False) -> None:
    """Ask backends which arithmetic they have, with products that tell."""
    from conformance.probing import probe_backends, render

    documents = probe_backends(tuple(backend or ()), device)
    if as_json:
        _print(documents, True, list)
    else:
        render(documents)


@app.command()
def bench(backend: Backends = None, device: Device = None, as_json: Json = False) -> None:
    """Time the engines of the bit model, the reference and backends side by side, and what padding M costs."""
    from conformance.benchmark import bench as run_bench
    from conformance.benchmark import render

    document = run_bench(tuple(backend or ()), device)
    if as_json:
        _print(document, True, list)
    else:
        render(document)


@app.command()
def faults(
    workers: Annotated[Optional[int], typer.Option("-n", metavar="N", min=1, help="Worker processes.")] = None,  # noqa: UP045
    reduced: Annotated[bool, typer.Option("--reduced", help="Only the cases of profile quick.")] = False,
    report: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--report", metavar="FILE", help="Keep what is known so far there (JSON), step by step."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Set the seeded faults against every check: who kills whom. Exit code 1: a survivor, an idle check, an alarm."""
    from conformance.faults.matrix import matrix
    from conformance.faults.told import document, render, write

    found = matrix(workers, deeper=not reduced, keep=lambda found: write(found, report) if report else None)
    if as_json:
        _print(document(found), True, list)
    else:
        render(found)
    raise typer.Exit(int(not found.is_proof))


Picture = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--picture", metavar="FILE", help="Draw it as well, to an .svg or .png file."),
]


@app.command()
def peers(
    small: Annotated[bool, typer.Option("--small", help="Only the small shape of each peer.")] = False,
    workers: Annotated[int, typer.Option("-n", metavar="N", min=1, help="Worker processes.")] = 1,
    device: Device = None,
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Run the seeded faults past the tests of the field, re-created: what each catches, misses, and cannot see."""
    from conformance.peers.census import as_sm90, census
    from conformance.peers.table import document, render
    from conformance.pictures import draw_peers
    from conformance.probe import parse_device

    where = parse_device(device)
    found = census(("small",) if small else ("small", "large"), device=where, build=as_sm90, workers=workers)
    if picture is not None:
        draw_peers(document(found), picture)
    if as_json:
        _print(document(found), True, list)
    else:
        render(found)


@app.command()
def sensitivity(device: Device = None, picture: Picture = None, as_json: Json = False) -> None:
    """Find the smallest gain, bias, wrong element, row and tile that each tier and each metric of the field detects."""
    from conformance.sensitivity import document, measure, render
    from conformance.sensitivity_picture import draw_sensitivity

    told = document(measure(device), device)
    if picture is not None:
        draw_sensitivity(told, picture)
    if as_json:
        _print(told, True, list)
    else:
        render(told)


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


def _print(document: Any, as_json: bool, lines: Callable[[], list[str]]) -> None:
    text = json.dumps(document, indent=2) if as_json else "\n".join(lines())
    sys.stdout.write(text + "\n")


def main() -> NoReturn:
    """Entry point: a `UsageError` becomes one sentence and exit code 2."""
    from conformance.siblings import claim_siblings

    try:
        claim_siblings()
        wait_politely()
        app(prog_name="conformance")
    except UsageError as error:
        sys.stderr.write(f"conformance: {error}\n")
        sys.exit(MISUSED)
    except BrokenPipeError:
        sys.exit(0)
    sys.exit(0)
