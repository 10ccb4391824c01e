"""What stands beside a report and says the same: a page for people, JUnit XML for services that run jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from conformance.records import JUNIT, PAGE, Line
from conformance.report_file import FILE


def put_beside(folder: Path, header: Line, lines: Sequence[Line], ending: Line | None) -> list[str]:
    """Write both to ``folder``; until the ``ending`` is known, only JUnit XML, which says that there is none.

    They repeat what the report says, so that without them the verdict is the same: what goes wrong comes back as
    sentences.
    """
    return list(_complaints(folder, header, lines, ending))


def _complaints(folder: Path, header: Line, lines: Sequence[Line], ending: Line | None) -> Iterator[str]:
    from conformance.ci.junit import write_junit
    from conformance.html.page import write_page

    yield from _tried(JUNIT, lambda: write_junit(folder, header, lines, ending))
    if ending is not None:
        yield from _tried(PAGE, lambda: write_page(folder / FILE, folder / PAGE))


def _tried(name: str, make: Callable[[], None]) -> Iterator[str]:
    try:
        make()
    except Exception as error:
        said = " ".join(str(getattr(error, "strerror", None) or error).split()) or type(error).__name__
        yield f"{name} was not made, and the verdict stands without it: {said}"
