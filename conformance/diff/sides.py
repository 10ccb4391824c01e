"""The two reports of a comparison: read, checked for being comparable, their cases paired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.errors import UsageError, unknown
from conformance.records import Line, read_report

Key = tuple[str, str]
SHOWN = (
    *("suite", "torch", "python", "path", "platform", "arch", "runtime", "driver", "device", "device_name"),
    *("profile", "seed"),
)


@dataclass(frozen=True)
class Side:
    """One report: its header, its case lines by (backend, id), its footer."""

    header: Line
    lines: Mapping[Key, Line]
    footer: Line | None

    @classmethod
    def read(cls, path: Path) -> Side:
        """The report ``path``, a folder or a file. Raises BadReportError."""
        header, lines, footer = read_report(path)
        return cls(header, {(line["backend"], line["id"]): line for line in lines}, footer)

    @property
    def backends(self) -> list[str]:
        """The backends that were judged, also where none of their cases was reached."""
        return list(dict.fromkeys([*self.header["backends"], *(backend for backend, _ in self.lines)]))

    def only(self, backend: str, name: str) -> Side:
        """The lines of ``backend`` alone, called ``name``."""
        lines = {(name, id_): line for (other, id_), line in self.lines.items() if other == backend}
        facts = self.header["backends"].get(backend, {})
        return replace(self, lines=lines, header={**self.header, "backends": {name: facts}})


def paired(old: Side, new: Side, across: str | None) -> tuple[Side, Side]:
    """Both sides with cases called alike: kernel A against kernel B where ``across`` (A=B) says so.

    Without it, where each report judges one backend and the names differ. Raises UsageError for a wrong ``across``.
    """
    if across is None:
        if len(old.backends) != 1 or len(new.backends) != 1 or old.backends == new.backends:
            return old, new
        names = (old.backends[0], new.backends[0])
    else:
        names = _named(old, new, across)
    name = names[0] if names[0] == names[1] else " → ".join(names)
    return old.only(names[0], name), new.only(names[1], name)


def _named(old: Side, new: Side, across: str) -> tuple[str, str]:
    first, equals, second = across.partition("=")
    if not (first and equals and second):
        raise UsageError(f"--across takes A=B, a backend of OLD and one of NEW, got {across!r}")
    for side, name in ((old, first), (new, second)):
        if name not in side.backends:
            raise unknown("backend", name, side.backends)
    return first, second


def why_incomparable(old: Side, new: Side) -> list[str]:
    """Sentences that say why no comparison of these two can be green; none where one can."""
    return list(_reasons(old, new))


def _reasons(old: Side, new: Side) -> Iterator[str]:
    for name, side in (("OLD", old), ("NEW", new)):
        if side.footer is None:
            yield f"{name} is incomplete: it has no footer, so its run did not come to its end"
        elif side.footer.get("missing"):
            yield f"{name} is incomplete: {', '.join(map(str, side.footer['missing']))}"
    seeds = [side.header["seed"] for side in (old, new)]
    if seeds[0] != seeds[1]:
        yield f"OLD has seed {seeds[0]} and NEW has seed {seeds[1]}, so that the inputs differ"
    elif not old.lines.keys() & new.lines.keys():
        backends = ", ".join(old.backends) or "no backend", ", ".join(new.backends) or "no backend"
        yield f"no case is in both (OLD judges {backends[0]}, NEW {backends[1]}; --across A=B compares two backends)"


def is_covering(old: Side, new: Side) -> bool:
    """Whether NEW answers for the cases that it lacks: a complete run of the same profile, not a selection."""
    return bool(new.footer and new.footer["complete"]) and old.header["profile"] == new.header["profile"]


def differing(old: Side, new: Side) -> list[tuple[str, str, str]]:
    """What differs between the runs by their headers: (what, of OLD, of NEW)."""
    rows = [(name, _text(old.header.get(name)), _text(new.header.get(name))) for name in SHOWN]
    for name in dict.fromkeys([*old.header["backends"], *new.header["backends"]]):
        facts: Sequence[Any] = [side.header["backends"].get(name) for side in (old, new)]
        if None in facts:
            old_has, new_has = ("not judged" if fact is None else "judged" for fact in facts)
            rows.append((name, old_has, new_has))
        elif all(isinstance(fact, dict) for fact in facts):
            keys = [key for key in dict.fromkeys([*facts[0], *facts[1]]) if key != "torch"]
            rows += [(f"{name} {key}", _text(facts[0].get(key)), _text(facts[1].get(key))) for key in keys]
    return [row for row in rows if row[1] != row[2]]


def _text(value: object) -> str:
    return "none" if value in (None, "") else str(value)
