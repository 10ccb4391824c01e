"""Reports made by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.conclude import Conclusion
from conformance.records import ReportWriter, footer, header, plan_of

Line = dict[str, Any]
ABOUT = {"suite": "0", "torch": "2.13.0", "path": "cpu", "arch": "x86_64", "profile": "quick", "seed": 0}
ABOUT |= {"backends": {"b": {"cublas": "13.1"}}, "require": [], "owing": [], "selected": False}
BASE = {"kind": "case", "backend": "b", "check": "f", "path": "cpu", "computed": True, "reason": "", "seconds": 0.5}
DIGESTS = {"input_digest": "i", "output_digest": "o"}


def about(*keys: tuple[str, str], **more: Any) -> Line:
    """A header; its plan is of ``keys``."""
    return header({**ABOUT, "plan": plan_of(keys), **more})


def line(verdict: str, name: str = "x", **more: Any) -> Line:
    """The line of the case ``gemm/NAME``."""
    return {**BASE, **DIGESTS, "id": f"gemm/{name}", "verdict": verdict, **more}


def write(folder: Path, about: Line, *lines: Line, code: int | None = 0, complete: bool = True) -> Path:
    """The report of these lines in ``folder``, with a footer unless its ``code`` is None; returns ``folder``."""
    writer = ReportWriter(folder)
    ending = [] if code is None else [footer(lines, complete=complete, conclusion=Conclusion(code, "what it came to"))]
    for each in (about, *lines, *ending):
        writer.write(each)
    writer.close()
    return folder


Command = Callable[..., tuple[int, str, str]]
"""What the fixture `command` gives: from arguments to exit code, stdout and stderr."""
