"""Reading a ledger: TOML that is data and nothing else, checked key by key."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from cases.files import read_file
from conformance.deviations.entry import AXES, Entry, Sizes, Where
from conformance.errors import UsageError, unknown
from conformance.probe import KINDS
from conformance.verdict import Reason

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = 1
WORDS = ("id", "observed", "reason", "link", "evidence")
LISTS = ("backends", "cases", "reasons")
OPTIONAL = {"since": str, "until": str, "may_pass": list, "problem": dict, "where": dict, "quarantine": bool}
VERSIONS = ("torch", "runtime", "cublas", "driver")


def read_ledger(path: Path) -> tuple[Entry, ...]:
    """The entries of ``path``. Raises UsageError naming the file, the entry and the key that is wrong."""
    try:
        document = tomllib.loads(read_file(path).decode())
    except OSError as error:
        raise UsageError(f"the ledger {str(path)!r} cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:  # no text, no TOML, more digits or deeper than can be read
        raise UsageError(f"the ledger {str(path)!r} is no TOML: {error}") from error
    try:
        _known(document, ("schema", "deviation"), "key")
        if document.get("schema") != SCHEMA:
            raise UsageError(f"'schema' has to be {SCHEMA}, got {document.get('schema')!r}")
        return tuple(_entry(table) for table in _tables(document.get("deviation", [])))
    except UsageError as error:
        raise UsageError(f"the ledger {str(path)!r}: {error}") from None


def _tables(found: Any) -> Iterable[Mapping[str, Any]]:
    if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
        raise UsageError("write every entry under a [[deviation]] of its own")
    return found


def _entry(table: Mapping[str, Any]) -> Entry:
    name = table.get("id") if isinstance(table.get("id"), str) else "without an id"
    try:
        _known(table, (*WORDS, *LISTS, *OPTIONAL), "key")
        values: dict[str, Any] = {word: _word(table, word) for word in WORDS}
        values |= {key: _texts(table, key) for key in LISTS}
        values |= {key: _typed(table, key, kind) for key, kind in OPTIONAL.items() if key in table}
        values["may_pass"] = _texts(table, "may_pass") if "may_pass" in table else ()
        values["problem"] = {axis: _sizes(axis, table["problem"][axis]) for axis in _axes(values.get("problem", {}))}
        values["where"] = _where(values.get("where", {}))
        return _checked(Entry(**values))
    except UsageError as error:
        raise UsageError(f"deviation {name!r}: {error}") from None


def _checked(entry: Entry) -> Entry:
    for reason in entry.reasons:
        if reason not in get_args(Reason):
            raise unknown("reason", reason, get_args(Reason))
    for key in ("since", "until"):
        _version(key, getattr(entry, key))
    if "*" in entry.cases and not entry.problem:
        raise UsageError("it covers every case: narrow 'cases', or say in 'problem' which sizes deviate")
    if "*" in entry.may_pass:
        raise UsageError("'may_pass' covers every case: what always may pass is no deviation")
    return entry


def _known(table: Mapping[str, Any], keys: Iterable[str], what: str) -> None:
    for key in table:
        if key not in (known := tuple(keys)):
            raise unknown(what, key, known)


def _word(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{key!r} is missing or no text")
    return value


def _texts(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(text, str) and text for text in value):
        raise UsageError(f"{key!r} has to be a list of texts, got {value!r}")
    return tuple(value)


def _typed(table: Mapping[str, Any], key: str, kind: type) -> Any:
    if not isinstance(table[key], kind):
        raise UsageError(f"{key!r} has to be a {kind.__name__}, got {table[key]!r}")
    return table[key]


def _axes(problem: Mapping[str, Any]) -> Iterable[str]:
    _known(problem, AXES, "size")
    return problem


def _sizes(axis: str, limits: Any) -> Sizes:
    if not isinstance(limits, dict) or not limits:
        raise UsageError(f"'problem.{axis}' has to be a table such as {{ min = 129 }}, got {limits!r}")
    _known(limits, Sizes.__dataclass_fields__, f"limit of {axis!r}")
    for name, limit in limits.items():
        if type(limit) is not int or limit < 0 or (limit == 0 and "multiple" in name):
            raise UsageError(f"'problem.{axis}.{name}' has to be a whole number, got {limit!r}")
    return Sizes(**limits)


def _where(table: Mapping[str, Any]) -> Where:
    _known(table, ("platform", "arch", *VERSIONS), "condition")
    kinds, archs = (_texts(table, key) if key in table else () for key in ("platform", "arch"))
    for kind in kinds:
        if kind not in KINDS:
            raise unknown("platform", kind, KINDS)
    return Where(kinds, archs, {name: _specifiers(name, table[name]) for name in VERSIONS if name in table})


def _specifiers(name: str, text: Any) -> str:
    try:
        return str(SpecifierSet(text if isinstance(text, str) else "?"))
    except InvalidSpecifier:
        raise UsageError(f"'where.{name}' has to be version specifiers such as '>=2.10,<2.16', got {text!r}") from None


def _version(key: str, text: str) -> None:
    try:
        Version(text or "0")
    except InvalidVersion:
        raise UsageError(f"{key!r} has to be a version such as '2.10', got {text!r}") from None
