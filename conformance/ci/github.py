"""Annotations of a GitHub job: lines of its log that are shown above it, and beside the changes of a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.causes import WRONG as WRONG_VERDICTS
from conformance.causes import Cause, causes_of
from conformance.conclude import CONFORMS, Conclusion
from conformance.diff.result import Diff
from conformance.records import Line

MOST = 10
"""Annotations of one kind that GitHub shows for one step."""
LONGEST = 4000
"""Characters of a message; more than fits an annotation helps nobody."""


def annotate(header: Line, lines: Sequence[Line], conclusion: Conclusion, against: Diff | None) -> list[str]:
    """Workflow commands, one a line: what the run comes to where it is not green, and the causes."""
    found = list(_annotations(header, lines, conclusion, against))
    if len(found) > MOST:
        more = f"{len(found) - MOST + 1} more are in the report"
        return [*found[: MOST - 1], _command("error", "conformance", more)]
    return found


def _annotations(header: Line, lines: Sequence[Line], conclusion: Conclusion, against: Diff | None) -> Iterator[str]:
    if conclusion.code != CONFORMS:
        yield _command("error", "conformance", conclusion.sentence)
    if against is not None and against.code != CONFORMS:
        yield _command("error", "conformance against the baseline", against.sentence)
    yield from (_of_cause(header, cause) for cause in causes_of(lines))


def _of_cause(header: Line, cause: Cause) -> str:
    count = len(cause.members)
    title = f"{cause.backend}: {cause.name or cause.verdict} ({count} case{'s' * (count != 1)})"
    level = "error" if cause.verdict in WRONG_VERDICTS else "warning"
    return _command(level, title, "\n".join(filter(None, (cause.sentence, cause.reproduction(header)))))


def _command(level: str, title: str, message: str) -> str:
    return f"::{level} title={_property(title)}::{_data(message[:LONGEST])}"


def _data(text: str) -> str:
    """``text`` as the message of a command, which ends with its line."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """``text`` as a property of a command, which ends with a comma or the next colons."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
