"""The report as it is written: header, a line a case as it ends, footer. What is not finished cannot look finished."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance.conclude import Conclusion
from conformance.errors import UsageError
from conformance.form import SCHEMA_VERSION, complaint

FILE = "report.jsonl"
JUNIT = "junit.xml"
"""What `FILE` says, for services that run jobs."""
Line = dict[str, Any]


class ReportWriter:
    """Writes ``DIR/report.jsonl``, every line flushed. Raises UsageError when DIR cannot be written.

    What an earlier run left beside it goes at once: beside a run that is killed it would be taken for that run's.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / JUNIT).unlink(missing_ok=True)
            self._file = self.path.open("w", encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"the report folder {str(folder)!r} cannot be written ({error.strerror}): name another with --report"
            ) from error

    def write(self, line: Line) -> None:
        """Append one line and flush it."""
        self._file.write(json.dumps(line, ensure_ascii=True, allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def header(about: Mapping[str, Any]) -> Line:
    """The first line."""
    return {"kind": "header", "schema": SCHEMA_VERSION, **about}


def footer(cases: Iterable[Line], *, complete: bool, conclusion: Conclusion) -> Line:
    """The last line: counts by verdict, the digest, and whether the whole plan was carried out."""
    lines = list(cases)
    counts = Counter(line["verdict"] for line in lines)
    return {
        "kind": "footer",
        "counts": dict(sorted(counts.items())),
        "computed": sum(bool(line.get("computed")) for line in lines),
        "complete": complete,
        "exit_code": conclusion.code,
        "conclusion": conclusion.sentence,
        "digest": digest(lines),
    }


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


class BadReportError(UsageError):
    """A report that cannot be read: the message names the file and what is wrong with it."""


def lies_in(report: Path, folder: Path) -> bool:
    """Whether ``report``, a file or the folder that it lies in, is what a run that reports to ``folder`` replaces."""
    return (report / FILE if report.is_dir() else report).resolve() == (folder / FILE).resolve()


def read_report(path: Path) -> tuple[Line, list[Line], Line | None]:
    """Header, case lines and footer of the report ``path``: the file, or the folder that it lies in.

    The footer is None where the run did not come to its end; its last line may then be cut. Raises BadReportError.
    """
    path = path / FILE if path.is_dir() else path
    lines = _parsed(path)
    if not lines:
        raise BadReportError(f"the report {str(path)!r} is empty: its run did not get as far as a header line")
    kinds: dict[str, dict[Any, Line]] = {"header": {}, "case": {}, "footer": {}}
    for number, line in enumerate(lines, 1):
        wrong = complaint(line, number == 1) or _misplaced(line, kinds)
        if wrong:
            raise BadReportError(f"line {number} of the report {str(path)!r} {wrong}")
        kinds.setdefault(line["kind"], {})[_key(line)] = line
    (about,), cases, footers = kinds["header"].values(), list(kinds["case"].values()), list(kinds["footer"].values())
    if footers and footers[0]["digest"] != digest(cases):
        raise BadReportError(
            f"the report {str(path)!r} is damaged: its {len(cases)} case lines do not give the digest of its footer, "
            "so lines were lost or changed"
        )
    return about, cases, footers[0] if footers else None


def _parsed(path: Path) -> list[Any]:
    try:
        text = _unpacked(path).decode("utf-8")
    except OSError as error:
        raise BadReportError(f"the report {str(path)!r} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise BadReportError(f"the report {str(path)!r} is damaged: it is no text ({error})") from error
    lines, cut = [], not text.endswith("\n")
    # Not splitlines, which also parts at characters that JSON strings may hold.
    texts = text.removesuffix("\n").split("\n") if text else []
    for number, each in enumerate(texts, 1):
        try:
            lines.append(json.loads(each))
        except (ValueError, RecursionError) as error:
            if cut and number == len(texts) > 1:
                break  # a killed run leaves its last line cut, and no footer
            raise BadReportError(f"line {number} of the report {str(path)!r} is damaged: {error}") from error
    return lines


def _unpacked(path: Path) -> bytes:
    """What ``path`` holds; one that was kept as ``.gz`` is unpacked. Raises ValueError where it cannot be."""
    packed = path.read_bytes()
    try:
        return gzip.decompress(packed) if path.suffix == ".gz" else packed
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from error


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
