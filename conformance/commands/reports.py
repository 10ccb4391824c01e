"""Commands that read reports, or cases one by one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from conformance.commands.app import app, put
from conformance.commands.options import Backends, Device, Json, Linears, Quantisers, Report
from conformance.errors import UsageError


@app.command()
def show(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A report, or the folder that it lies in.")],
    html: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Write the page of the report there, too."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the table of a report again. Exit code: the report's own; without a footer 4, or 1 if a case failed."""
    from conformance.records import read_report
    from conformance.report_file import find_report
    from conformance.show import document, tell

    header, lines, footer = read_report(report)
    if html is not None:
        from conformance.html.page import write_page

        write_page(report, html)
    if as_json:
        found = document(header, lines, footer)
        put(found, True, list)
        raise typer.Exit(found["exit_code"])
    raise typer.Exit(tell(header, lines, footer, where=find_report(report)))


@app.command()
def statement(
    report: Annotated[Path, typer.Argument(metavar="REPORT", help="A report, or the folder that it lies in.")],
    backend: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--backend", metavar="NAME", help="Only this kernel of the report; repeat for more."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print it as a document to publish.")] = False,
    as_json: Json = False,
) -> None:
    """Say what a report lets its reader claim. Exit code: 0 a statement, 1 a claim is contradicted, 4 none, and why."""
    from conformance.statement import markdown as document
    from conformance.statement.answer import answer
    from conformance.statement.printed import print_statements
    from conformance.terminal import console_on

    if markdown and as_json:
        raise UsageError("--json and --markdown are two forms of the same: choose one")
    found = answer(report, tuple(backend or ()))
    if as_json:
        put(found.to_json(), True, list)
    elif markdown:
        sys.stdout.write(document.render(found.statements))
    else:
        print_statements(console_on(sys.stdout), found.statements)
    raise typer.Exit(found.code)


@app.command()
def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A report, or the folder that it lies in.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The report to compare with it.")],
    across: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="A=B", help="Compare backend A of OLD with backend B of NEW, and nothing else."),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the comment of a pull request.")] = False,
    page: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--html", metavar="FILE", help="Write it as a page as well, one file that needs no network."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare two reports. Exit code: 0 no regression, 1 a regression or lost coverage, 2 misused, 4 incomparable."""
    from conformance.ci.announce import announce_diff
    from conformance.diff import markdown as comment
    from conformance.diff.result import between, document
    from conformance.diff.sides import Side, paired
    from conformance.diff.tables import render

    if markdown and as_json:
        raise UsageError("--json and --markdown are two forms of the same: choose one")
    before, after = paired(Side.read(old), Side.read(new), across)
    found = between(before, after)
    if page:
        from conformance.html.comparison import write_comparison

        write_comparison(found, after, page)
    if as_json:
        put(document(found), True, list)
    elif markdown:
        sys.stdout.write(comment.render(found))
    else:
        render(found)
    announce_diff(found)
    raise typer.Exit(found.code)


@app.command()
def merge(
    reports: Annotated[list[Path], typer.Argument(metavar="REPORT...", help="The reports of all shards of one run.")],
    report: Report = Path("conformance-report"),
) -> None:
    """Join the reports of shards. Exit code: that of the whole run, 4 where a shard is missing or incomplete."""
    from conformance.shards.merge import merge as merge_reports
    from conformance.shards.merge import tell

    raise typer.Exit(tell(merge_reports(reports, report), report))


@app.command()
def explain(
    case: Annotated[list[str], typer.Argument(metavar="ID...", help="Case ids; also of a batch of generated cases.")],
    backend: Backends = None,
    device: Device = None,
    seed: Annotated[Optional[int], typer.Option(metavar="S", help="Suite seed; default 0.")] = None,  # noqa: UP045
    report: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Read it from this report, and run nothing."),
    ] = None,
    script: Annotated[bool, typer.Option("--script", help="Print a script that shows it with torch alone.")] = False,
    quantiser: Quantisers = None,
    linear: Linears = None,
    to: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--to", metavar="FILE", help="Write the script to FILE instead."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what was asked of a kernel, what came and what that is: right, a named fault, or unexplained."""
    from conformance.explaining.answer import answer
    from conformance.subjects.kinds import KERNEL, LINEAR, QUANTISER

    if report is not None and (device is not None or seed is not None):
        raise UsageError("--device and --seed belong to a rerun: a report says where and from what it was made")
    if to is not None and not script:
        raise UsageError("--to says where the script goes: add --script")
    if script and as_json:
        raise UsageError("--json and --script are two answers: choose one")
    named = {KERNEL: backend or [], QUANTISER: quantiser or [], LINEAR: linear or []}
    found = answer(case, named, device=device, seed=seed or 0, report=report)
    if script:
        found.write_script(to)
    elif as_json:
        put(found.documents, True, list)
    else:
        found.render()
