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
from conformance.verdict import VERDICTS
from conformance.verdict_rows import check_of

LIMIT = 1_000_000
"""Bytes of a summary: GitHub shows none that is larger than 1 MiB, and not always one that is just smaller."""
ROOM = LIMIT // 2
"""Bytes that one report may take of it: a job may have several to tell."""
CAUSES, ROWS, MEMBERS, ELEMENTS = 40, 200, 10, 3
"""Causes, rows of the table, cases of a cause, and wrong elements of a case that are shown."""
LONGEST_COMMAND = 2000
"""Characters of a command: a shortened one runs something else."""


def summary_of(header: Line, lines: Sequence[Line], conclusion: Conclusion, against: Diff | None = None) -> str:
    """The summary of a report, and of its comparison with a baseline, as far as there is `ROOM`."""
    kept, room = [], ROOM
    for block in _blocks(header, lines, conclusion, against):
        room -= len(block.encode("utf-8", "replace")) + 1
        if room < 0:
            kept.append("... and more, which is in the report\n")
            break
        kept.append(block)
    return "\n".join(kept) + "\n"


def _blocks(header: Line, lines: Sequence[Line], conclusion: Conclusion, against: Diff | None) -> Iterator[str]:
    """What it says, in pieces that can stand alone."""
    yield f"### {inert(conclusion.sentence)}\n"
    yield f"{inert(_title(header))}\n"
    if against is not None:
        yield f"Against the baseline:\n\n{markdown.render(against)}"
    causes = causes_of(lines)
    yield from ("\n".join(_cause(header, cause)) for cause in causes[:CAUSES])
    if len(causes) > CAUSES:
        yield f"... and {len(causes) - CAUSES} more causes\n"
    if lines:
        yield "\n".join(_table(lines))


def _title(header: Line) -> str:
    device = header.get("device_name") or header.get("arch", "")
    about = [
        header["path"],
        device,
        f"torch {header['torch']}",
        f"profile {header['profile']}",
        f"seed {header['seed']}",
    ]
    return " · ".join([*map(str, about), *([f"shard {header['shard']}"] if "shard" in header else [])])


def _cause(header: Line, cause: Cause) -> Iterator[str]:
    count = len(cause.members)
    said = f"{cause.backend}: {cause.verdict}, {cause.name} ({count} case{'s' * (count != 1)})"
    yield f"<details><summary>{inert(said)}</summary>\n"
    yield f"{inert(cause.sentence)}\n"
    yield from (_member(header, line) for line in cause.members[:MEMBERS])
    if count > MEMBERS:
        yield f"... and {count - MEMBERS} more\n"
    yield "</details>\n"


def _member(header: Line, line: Line) -> str:
    """The command that runs a case again, and its first wrong elements."""
    command = inert(reproduction(header, line), LONGEST_COMMAND)
    wrong = [
        f"[{element.get('row')}, {element.get('column')}] {element.get('actual')} for {element.get('expected')}"
        for element in line.get("first_wrong", ())[:ELEMENTS]
    ]
    return f"<pre>{'<br>'.join([command, *map(inert, wrong)])}</pre>\n"


def _table(lines: Sequence[Line]) -> Iterator[str]:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for line in lines:
        counts.setdefault((line["backend"], check_of(line)), Counter())[line["verdict"]] += 1
    used = [verdict for verdict in VERDICTS if any(row[verdict] for row in counts.values())]
    rows = [
        (code(backend), code(check), *(str(row[verdict] or "") for verdict in used))
        for (backend, check), row in counts.items()
    ]
    yield "<details><summary>by backend and check</summary>\n"
    yield from table(("backend", "check", *used), rows[:ROWS])
    if len(rows) > ROWS:
        yield f"... and {len(rows) - ROWS} more\n"
    yield "</details>\n"
