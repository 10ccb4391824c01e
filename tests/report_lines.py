"""Lines of reports made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.conclude import WORDS, Conclusion
from conformance.records import ReportWriter, footer, header

Line = dict[str, Any]
ABOUT = {"suite": "0", "torch": "2.13.0", "path": "cpu", "backends": {"b": {}}, "profile": "quick", "seed": 0}
BASE = {"kind": "case", "id": "gemm/x", "backend": "b", "path": "cpu", "check": "f", "reason": "", "seconds": 0.0}
DIGESTS = {"input_digest": "i", "output_digest": "o"}


def about(**more: Any) -> Line:
    """A header."""
    return header({**ABOUT, **more})


def line(verdict: str, **more: Any) -> Line:
    """The line of a case."""
    return {**BASE, **DIGESTS, "verdict": verdict, **more}


def write(
    folder: Path, *lines: Line, ended: bool = True, code: int = 0, sentence: str = "CONFORMS", **more: Any
) -> Path:
    """A report in ``folder``, with a footer where it ``ended``."""
    writer = ReportWriter(folder)
    for each in (about(**more), *lines):
        writer.write(each)
    if ended:
        writer.write(footer(lines, complete=True, conclusion=Conclusion(code, WORDS[code])))
    writer.close()
    return folder
