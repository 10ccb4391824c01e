"""A report as the summary of a GitHub job, in Markdown; whatever it says is text and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from conformance.causes import Cause, causes_of, reproduction
from conformance.conclude import Conclusion
from conformance.diff import markdown
from conformance.diff.result import Diff
from conformance.markdown import code, inert, table
from conformance.records import Line
from conformance.summary import COLUMNS, check_of

LIMIT = 1_000_000
"""Bytes of a summary: GitHub shows none that is larger than 1 MiB."""
LONGEST_COMMAND = 2000
"""Characters of a command: a shortened one runs something else."""
CAUSES, ROWS, MEMBERS, ELEMENTS = 40, 200, 10, 3
"""Causes, rows of the table, cases of a cause, and wrong elements of a case that are shown."""


def summary_of(header: Line, lines: Sequence[Line], conclusion: Conclusion, against: Diff | None = None) -> str:
    """The summary of a report, and of its comparison with a baseline."""
    return "\n".join(_lines(header, lines, conclusion, against)) + "\n"


def _lines(header: Line, lines: Sequence[Line], conclusion: Conclusion, against: Diff | None) -> Iterator[str]:
    yield f"### {inert(conclusion.sentence)}\n"
    yield f"{inert(_title(header))}\n"
    yield from _causes(header, causes_of(lines))
    yield from _table(lines)
    if against is not None:
        yield "Against the baseline:\n"
        yield markdown.render(against)


def _title(header: Line) -> str:
    device = header.get("device_name") or header.get("arch", "")
    shard = f" · shard {header['shard']}" if "shard" in header else ""
    about = (
        header["path"],
        device,
        f"torch {header['torch']}",
        f"profile {header['profile']}",
        f"seed {header['seed']}",
    )
    return " · ".join(map(str, about)) + shard


def _causes(header: Line, causes: Sequence[Cause]) -> Iterator[str]:
    for cause in causes[:CAUSES]:
        count = len(cause.members)
        said = f"{cause.backend}: {cause.verdict}, {cause.name} ({count} case{'s' * (count != 1)})"
        yield f"<details><summary>{inert(said)}</summary>\n"
        yield f"{inert(cause.sentence)}\n"
        yield from (_member(header, line) for line in cause.members[:MEMBERS])
        if count > MEMBERS:
            yield f"... and {count - MEMBERS} more\n"
        yield "</details>\n"
    if len(causes) > CAUSES:
        yield f"... and {len(causes) - CAUSES} more causes\n"


def _member(header: Line, line: Line) -> str:
    """The command that runs a case again, and its first wrong elements."""
    wrong = [
        f"[{element.get('row')}, {element.get('column')}] {element.get('actual')} for {element.get('expected')}"
        for element in line.get("first_wrong", ())[:ELEMENTS]
    ]
    command = inert(reproduction(header, line), LONGEST_COMMAND)
    return f"<pre>{'<br>'.join([command, *map(inert, wrong)])}</pre>\n"


def _table(lines: Sequence[Line]) -> Iterator[str]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for line in lines:
        counts.setdefault((line["backend"], check_of(line)), Counter())[line["verdict"]] += 1
    used = [verdict for verdict in COLUMNS if any(row[verdict] for row in counts.values())]
    rows = [
        (code(backend), code(check), *(str(row[verdict] or "") for verdict in used))
        for (backend, check), row in counts.items()
    ]
    if rows:
        yield "<details><summary>by backend and check</summary>\n"
        yield from table(("backend", "check", *used), rows[:ROWS])
        yield from [f"... and {len(rows) - ROWS} more\n"] * (len(rows) > ROWS)
        yield "</details>\n"
