"""Telling the service that runs this job what came of it, where there is one that wants to know."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from conformance.ci.github import annotate
from conformance.ci.job_summary import LIMIT, summary_of
from conformance.conclude import Conclusion
from conformance.diff import markdown
from conformance.diff.result import Diff
from conformance.records import Line
from conformance.terminal import is_github_job

SUMMARY = "GITHUB_STEP_SUMMARY"
"""Environment variable: the file that takes the summary of a GitHub job's step."""


def announce(header: Line, lines: Sequence[Line], conclusion: Conclusion, against: Diff | None = None) -> None:
    """Annotate the job and append to its summary. Annotations go to stderr, which GitHub reads as it does stdout."""
    if is_github_job():
        sys.stderr.writelines(f"{line}\n" for line in annotate(header, lines, conclusion, against))
    summarise(lambda: summary_of(header, lines, conclusion, against))


def announce_diff(found: Diff) -> None:
    """Append a comparison to the summary of the job."""
    summarise(lambda: markdown.render(found))


def summarise(page: Callable[[], str]) -> None:
    """Append the ``page`` to the summary of the job, if there is one and room in it."""
    file = os.environ.get(SUMMARY)
    if not file:
        return
    text = page() + "\n"
    try:
        with Path(file).open("a", encoding="utf-8", errors="replace") as summary:
            if summary.tell() + len(text.encode("utf-8", "replace")) <= LIMIT:
                summary.write(text)
            else:
                sys.stderr.write("conformance: the summary of this job has no room for more\n")
    except OSError as error:
        # A courtesy: the verdict does not depend on it.
        sys.stderr.write(f"conformance: the summary of this job cannot be written ({error.strerror})\n")
