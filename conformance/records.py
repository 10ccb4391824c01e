"""The report as it is written: header, a line a case as it ends, footer. What is not finished cannot look finished."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from conformance.conclude import Conclusion
from conformance.errors import UsageError
from conformance.form import SCHEMA_VERSION, complaint
from conformance.report_file import FILE, BadReportError, find_report, parse_report

PAGE, JUNIT = "report.html", "junit.xml"
"""What the report says, for people and for services that run jobs; made beside it when the run ends."""
Line = dict[str, Any]


class ReportLostError(Exception):
    """The report cannot be written any more: the message says why. What was written stays, without a footer."""


def check_folder(folder: Path) -> None:
    """Raise UsageError where no report can be written to ``folder``; what is there stays, and nothing comes to it."""
    try:
        if (folder / FILE).exists() and not (folder / FILE).is_file():
            # A pipe that nobody reads would hold the run up for ever.
            raise OSError(errno.EEXIST, f"{FILE} there is no file")
        missing = [place for place in (folder, *folder.parents) if not place.exists()]
        is_new = not (folder / FILE).exists()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE).open("ab").close()
        if is_new:
            (folder / FILE).unlink()
        for place in missing:
            place.rmdir()
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> UsageError:
    return UsageError(
        f"the report folder {str(folder)!r} cannot be written ({error.strerror}): name another with --report"
    )


class ReportWriter:
    """Writes ``DIR/report.jsonl``, line by line, past every buffer. Raises UsageError when DIR cannot be written.

    What an earlier run left beside it goes at once: beside a run that is killed it would be taken for that run's.
    The report itself stays where this run ``goes_on`` with it, until its lines are rewritten.
    """

    def __init__(self, folder: Path, *, goes_on: bool = False) -> None:
        self.path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in (PAGE, JUNIT):
                (folder / name).unlink(missing_ok=True)
            self._file = self.path.open("ab" if goes_on else "wb", buffering=0)
        except OSError as error:
            raise _unwritable(folder, error) from error

    def write(self, line: Line) -> None:
        """Append one line. Raises ReportLostError where there is no room for it; the lines before it stay whole."""
        end = self._file.tell()
        try:
            _put(self._file, line)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(end)
            raise self._lost(error) from error

    def rewrite(self, lines: Iterable[Line]) -> None:
        """Put ``lines`` in the place of all that was written, at once. Raises ReportLostError, and changes nothing."""
        new = self.path.with_name(f"{FILE}.new")
        try:
            file = _made(new, lines)
            new.replace(self.path)
        except OSError as error:
            new.unlink(missing_ok=True)
            raise self._lost(error) from error
        self._file.close()
        self._file = file

    def _lost(self, error: OSError) -> ReportLostError:
        return ReportLostError(f"the report cannot be written any more ({error.strerror}): {self.path}")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _made(path: Path, lines: Iterable[Line]) -> FileIO:
    """A new file of these ``lines``, on the disk: a machine that is lost must not keep the name alone."""
    file = path.open("wb", buffering=0)
    try:
        for line in lines:
            _put(file, line)
        os.fsync(file.fileno())
    except OSError:
        file.close()
        raise
    return file


def _put(file: FileIO, line: Line) -> None:
    left = json.dumps(line, ensure_ascii=True, allow_nan=False).encode() + b"\n"
    while left:
        left = left[file.write(left) :]


def header(about: Mapping[str, Any]) -> Line:
    """The first line."""
    return {"kind": "header", "schema": SCHEMA_VERSION, **about}


def footer(cases: Iterable[Line], *, complete: bool, conclusion: Conclusion) -> Line:
    """The last line: counts by verdict, the digest, and whether the whole plan was carried out."""
    lines = list(cases)
    return {
        "kind": "footer",
        "counts": counts_of(lines),
        "computed": sum(bool(line.get("computed")) for line in lines),
        "complete": complete,
        "exit_code": conclusion.code,
        "conclusion": conclusion.sentence,
        "digest": digest(lines),
    }


def counts_of(cases: Iterable[Line]) -> dict[str, int]:
    """How many cases have each verdict."""
    return dict(sorted(Counter(line["verdict"] for line in cases).items()))


def digest(cases: Iterable[Line]) -> str:
    """16 hex digits over ids, input bytes, verdicts and a deterministic backend's output bits; not order, not times."""
    return _hex(sorted("|".join(_digested(line)) for line in cases))


def plan_of(keys: Iterable[tuple[str, str]]) -> Line:
    """What the header says of a plan: how many (backend, id) there are, and 16 hex digits over them in any order."""
    names = sorted("|".join(key) for key in keys)
    return {"cases": len(names), "digest": _hex(names)}


def _hex(rows: Iterable[str]) -> str:
    return hashlib.blake2b("\n".join(rows).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _digested(line: Line) -> list[str]:
    keys = ["backend", "id", "input_digest", "verdict", "reason"]
    return [str(line.get(key, "")) for key in keys + (["output_digest"] if line.get("deterministic", True) else [])]


def lies_in(report: Path, folder: Path) -> bool:
    """Whether ``report``, a file or the folder that it lies in, is what a run that reports to ``folder`` replaces."""
    return (report / FILE if report.is_dir() else report).resolve() == (folder / FILE).resolve()


def read_report(path: Path) -> tuple[Line, list[Line], Line | None]:
    """Header, case lines and footer of the report ``path``: the file, or the folder that it lies in.

    The footer is None where the run did not come to its end; its last line may then be cut. Raises BadReportError.
    """
    path = find_report(path)
    lines = parse_report(path)
    kinds: dict[str, dict[Any, Line]] = {"header": {}, "case": {}, "footer": {}}
    for number, line in enumerate(lines, 1):
        wrong = complaint(line, number == 1) or _misplaced(line, kinds)
        if wrong:
            raise BadReportError(f"line {number} of the report {str(path)!r} {wrong}")
        kinds.setdefault(line["kind"], {})[_key(line)] = line
    (about,), cases, footers = kinds["header"].values(), list(kinds["case"].values()), list(kinds["footer"].values())
    if footers and (footers[0]["digest"], footers[0]["counts"]) != (digest(cases), counts_of(cases)):
        raise BadReportError(
            f"the report {str(path)!r} is damaged: its {len(cases)} case lines do not give the digest and the counts "
            "of its footer, so lines were lost or changed"
        )
    return about, cases, footers[0] if footers else None


def _key(line: Line) -> Any:
    return (line["backend"], line["id"]) if line["kind"] == "case" else ""


def _misplaced(line: Line, kinds: Mapping[str, Mapping[Any, Line]]) -> str:
    """What is wrong with ``line`` where it stands, after those of ``kinds``; several runs in one file, above all."""
    if kinds["footer"]:
        return "follows a footer, so there is more than one run in this file"
    if line["kind"] == "header" and kinds["header"]:
        return "is a second header, so there is more than one run in this file"
    if line["kind"] == "case" and _key(line) in kinds["case"]:
        return f"judges {line['id']} on {line['backend']} a second time"
    return ""
