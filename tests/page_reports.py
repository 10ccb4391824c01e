"""Hand-made reports for the tests of pages: what a run of wrong kernels writes, without running any."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conformance.conclude import Conclusion
from conformance.records import ReportWriter, footer, header

Line = dict[str, Any]
ABOUT: Line = {
    **{"suite": "0.1.0", "torch": "2.13.0", "python": "3.11", "path": "cpu", "device": "cpu", "device_name": "a CPU"},
    **{"backends": {"k": {"library": "7.1"}}, "specs": {"k": "kernels:K"}, "profile": "quick", "seed": 0},
    "command": ["conformance", "run", "--backend", "kernels:K"],
}
PICTURE = {"size": [6, 256], "cell": [1, 64], "rows": [".-##", "..+#*2", "....*3"]}
FIRST = {
    **{"row": 0, "column": 128, "actual": "0x1.8p+3", "expected": "0x1.0p+0"},
    **{"actual_bits": "0x4140", "expected_bits": "0x3f80"},
}
SEEN: Line = {
    **{"reason": "wrong-values", "detail": "9 of 1536 elements are wrong", "shape": "columns"},
    **{"where": "columns 64 to 255 of rows 0 to 2", "picture": PICTURE, "first_wrong": [FIRST]},
}
HOSTILE = '</script x><img src=x onerror="hacked=1">\'&<!--\u202e\x1b[31m'
"""Markup, quotes, a direction mark and a terminal's escape."""
HARMLESS = '</script x><img src=x onerror="hacked=1">\'&<!--��[31m'
"""The same as it may be shown."""


def case(
    verdict: str,
    problem: str = "m6-n256-k512",
    check: str = "tagged-integers",
    *,
    seed: int = 0,
    scenario: str = "gemm",
    **more: Any,
) -> Line:
    """A case line with an id of these parts."""
    return {
        **{"kind": "case", "id": f"{scenario}/1x128-128x128/{problem}/bf16/{check}/s{seed}", "backend": "k"},
        **{"verdict": verdict, "reason": "", "check": check if scenario == "gemm" else scenario, "path": "cpu"},
        **{"computed": verdict in ("passed", "failed"), "seconds": 0.1, "input_digest": "i", "output_digest": "o"},
        **more,
    }


def wrong(problem: str = "m6-n256-k512", **more: Any) -> Line:
    """A failed case with everything that is known of one."""
    return case("failed", problem, **{**SEEN, **more})


def write(
    folder: Path,
    *lines: Line,
    ended: bool = True,
    complete: bool = True,
    code: int = 1,
    said: str = "WRONG: it is",
    **about: Any,
) -> Path:
    """A report in ``folder``."""
    writer = ReportWriter(folder)
    writer.write(header({**ABOUT, **about}))
    for line in lines:
        writer.write(line)
    if ended:
        writer.write(footer(lines, complete=complete, conclusion=Conclusion(code, said)))
    writer.close()
    return folder


def many(count: int, *, failing: int) -> list[Line]:
    """``count`` cases of a big run, the first ``failing`` of them wrong in ways of their own."""
    return [
        case(
            "failed" if place < failing else "passed",
            f"m{place % 97 + 1}-n{16 * (place % 31 + 1)}-k{128 * (place % 13 + 1)}",
            ("tagged-integers", "uniform-codes", "quantised-normal")[place % 3],
            seed=place,
            backend=("k", "l")[place % 2],
            worst_ulp=place,
            rel_diff=place / 7,
            **(_unlike_others(place) if place < failing else {}),
        )
        for place in range(count)
    ]


def _unlike_others(place: int) -> Line:
    row = "".join(".-+#"[place >> (cell % 13) & 3] for cell in range(32))
    return {
        **SEEN,
        "detail": f"{place} of 4096 elements are wrong, the first at (0, {place})",
        "fault": f"fault-{place % 5}",
        "finding": f"the fault number {place % 5} gives {place} of the wrong elements",
        "picture": {"size": [16, 256], "cell": [1, 8], "rows": [row, "." * 32 + "*15"]},
        "first_wrong": [{**FIRST, "column": each, "actual": f"{place / 3:.6f}"} for each in range(5)],
    }
