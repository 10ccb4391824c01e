"""The report as it is written: header, a line a case as it ends, footer. What is not finished cannot look finished."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conformance.conclude import Conclusion
from conformance.errors import UsageError

SCHEMA_VERSION = 1
FILE = "report.jsonl"
Line = dict[str, Any]


class ReportWriter:
    """Writes ``DIR/report.jsonl``, every line flushed. Raises UsageError when DIR cannot be written."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
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
    rows = sorted("|".join(_digested(line)) for line in cases)
    return hashlib.blake2b("\n".join(rows).encode(), digest_size=8).hexdigest()


def _digested(line: Line) -> list[str]:
    keys = ["backend", "id", "input_digest", "verdict", "reason"]
    return [str(line.get(key, "")) for key in keys + (["output_digest"] if line.get("deterministic", True) else [])]


class BadReportError(UsageError):
    """A report that cannot be read: the message names the file and what is wrong with it."""


def read_report(folder: Path) -> tuple[Line, list[Line], Line | None]:
    """Header, case lines and footer (None when the run did not end) of the report in ``folder``."""
    path = folder / FILE
    try:
        lines = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise BadReportError(f"the report {str(path)!r} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise BadReportError(f"the report {str(path)!r} is damaged: {error}") from error
    kinds = {"header": [], "case": [], "footer": []}  # type: dict[str, list[Line]]
    for line in lines:
        kinds.setdefault(str(line.get("kind")), []).append(line)
    if not kinds["header"]:
        raise BadReportError(f"the report {str(path)!r} has no header line")
    return kinds["header"][0], kinds["case"], kinds["footer"][0] if kinds["footer"] else None
