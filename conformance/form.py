"""The form of a report's lines: what each must have. `report.schema.json` says the same to others' tools."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from conformance.conclude import WORDS
from conformance.verdict import VERDICTS, Reason

SCHEMA_VERSION = 1
REASONS: tuple[str, ...] = get_args(Reason)

REQUIRED: Mapping[str, Mapping[str, type]] = {
    "header": {
        "schema": int,
        "suite": str,
        "torch": str,
        "path": str,
        "backends": dict,
        "profile": str,
        "seed": int,
    },
    "case": {
        "id": str,
        "backend": str,
        "verdict": str,
        "reason": str,
        "seconds": float,
        "input_digest": str,
        "output_digest": str,
    },
    "footer": {"counts": dict, "complete": bool, "exit_code": int, "digest": str},
}
"""Members of each kind of line without which it cannot be read; whatever else a line has may be missing."""

OPTIONAL: Mapping[str, Mapping[str, type]] = {
    "header": {
        "arch": str,
        "device": str,
        "device_name": str,
        "command": list,
        "require": list,
        "specs": dict,
        "plan": dict,
        "asked": dict,
        "selection": dict,
        "resumed": int,
        "shard": str,
        "selected": bool,
        "owing": list,
        "declared": dict,
        "deviations": dict,
    },
    "case": {
        "detail": str,
        "deviation": str,
        "path": str,
        "expected": str,
        "check": str,
        "recipe": str,
        "tier": str,
        "arithmetic": str,
        "deterministic": bool,
        "computed": bool,
        "model": bool,
        "holds": bool,
        "declined": str,
        "plan": int,
        "elements": int,
        "explained": int,
        "examples": int,
        "worst_ulp": int,
        "err_over_bound": float,
        "rel_diff": float,
        "reproduce": str,
        "shape": str,
        "where": str,
        "fault": str,
        "finding": str,
        "picture": dict,
        "first_wrong": list,
    },
    "footer": {"conclusion": str, "computed": int, "baseline": dict, "missing": list, "seconds": dict},
}
"""Members that readers use where they are."""

WITHIN: Mapping[tuple[str, str], type] = {
    ("header", "backends"): dict,
    ("header", "command"): str,
    ("header", "require"): str,
    ("header", "specs"): str,
    ("header", "owing"): str,
    ("header", "declared"): dict,
    ("header", "deviations"): dict,
    ("footer", "missing"): str,
    ("case", "first_wrong"): dict,
    ("footer", "counts"): int,
    ("footer", "seconds"): float,
}
"""What each value of an object, or each item of an array, is."""

JSON_NAMES: Mapping[type, str] = {
    int: "integer",
    float: "number",
    str: "string",
    bool: "boolean",
    dict: "object",
    list: "array",
}
LARGEST = 2**63
"""No integer is as large: neither others' tools nor sums of floats could take it."""


def complaint(line: Any, first: bool) -> str:
    """What is wrong with a parsed ``line`` (the ``first`` of its file or not), or nothing."""
    if not isinstance(line, dict) or not isinstance(line.get("kind"), str):
        return "is no line of a report: it has no 'kind'"
    if first and line["kind"] != "header":
        return "is no header line, so this is no report of conformance"
    return next(_complaints(line), "")


def _complaints(line: Mapping[str, Any]) -> Iterator[str]:
    kind = line["kind"]
    schema: Any = line.get("schema")
    if kind == "header" and _is_a(schema, int) and schema != SCHEMA_VERSION:
        # Asked first: what a newer suite writes may well lack what this one requires.
        yield _of_another_time(schema)
    for name, wanted in REQUIRED.get(kind, {}).items():
        if name not in line:
            yield f"lacks the member {name!r}, which a {kind} line must have"
        yield from _mistyped(line, name, wanted)
    for name, wanted in OPTIONAL.get(kind, {}).items():
        if name in line:
            yield from _mistyped(line, name, wanted)
    if kind == "case" and line["verdict"] not in VERDICTS:
        yield f"has the verdict {line['verdict']!r}, which is none of {', '.join(VERDICTS)}"
    if kind == "footer" and line["exit_code"] not in range(len(WORDS)):
        yield f"has the exit code {line['exit_code']}, which is none of 0 to {len(WORDS) - 1}"


def _mistyped(line: Mapping[str, Any], name: str, wanted: type) -> Iterator[str]:
    value = line[name]
    if not _is_a(value, wanted):
        yield f"has a member {name!r} that is no {JSON_NAMES[wanted]}"
    inner = WITHIN.get((line["kind"], name), object)
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if inner is not object and not all(_is_a(item, inner) for item in items):
        yield f"has a member {name!r} with something in it that is no {JSON_NAMES[inner]}"


def _of_another_time(schema: int) -> str:
    if schema > SCHEMA_VERSION:
        return f"has schema {schema}, and this suite reads up to {SCHEMA_VERSION}: read it with a newer suite"
    return f"has schema {schema}, and there is none before {SCHEMA_VERSION}"


def _is_a(value: Any, wanted: type) -> bool:
    """Whether a JSON ``value`` is of the ``wanted`` type: true is no number, an integer is one, and NaN is none."""
    if isinstance(value, bool):
        return wanted is bool
    if isinstance(value, int) and wanted in (int, float):
        return abs(value) < LARGEST
    if isinstance(value, float) and wanted is float:
        return math.isfinite(value)
    return isinstance(value, wanted)
