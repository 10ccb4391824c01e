"""The reports of all shards, joined to the one of the whole run: `conformance merge`. Needs no torch."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance import show
from conformance.beside import put_beside
from conformance.ci.announce import announce
from conformance.conclude import BROKEN, INCONCLUSIVE, WRONG, Conclusion, conclude, conclusion_of
from conformance.endings import say
from conformance.errors import UsageError
from conformance.phases import added
from conformance.records import Line, ReportWriter, footer, lies_in, plan_of
from conformance.report_file import FILE
from conformance.shards.part import MAY_DIFFER, Part, check_agreement, join
from conformance.shards.share import Key


@dataclass(frozen=True)
class Merged:
    """What the shards come to: header, case lines and footer, and what a person should know of the joining."""

    header: Line
    lines: tuple[Line, ...]
    footer: Line
    notes: tuple[str, ...]

    def write(self, folder: Path) -> None:
        """Write the report to ``folder``, and beside it what says the same. Raises UsageError."""
        writer = ReportWriter(folder)
        for line in (self.header, *self.lines, self.footer):
            writer.write(line)
        writer.close()
        for complaint in put_beside(folder, self.header, self.lines, self.footer):
            say(complaint)


def merge(paths: Sequence[Path], folder: Path) -> Merged:
    """Join the shards ``paths``, for ``folder``. Raises UsageError where they do not belong together."""
    parts = sorted((Part.read(path) for path in paths), key=lambda part: part.shard.index)
    for part in parts:
        if lies_in(part.path, folder):
            raise UsageError(f"the folder {str(folder)!r} holds one of the shards: name another with --report")
        check_agreement(parts[0], part)
    lines, notes = join(parts)
    header = _header(parts, lines)
    missing = list(_missing(parts, header, lines))
    if missing:
        header["shard"] = f"{'+'.join(dict.fromkeys(str(part.shard.index) for part in parts))}/{parts[0].shard.count}"
    ending = _footer(header, list(lines.values()), missing)
    if took := added((part.side.footer or {}).get("seconds", {}) for part in parts):
        ending["seconds"] = took
    return Merged(header, tuple(lines.values()), ending, tuple(notes))


def tell(merged: Merged, folder: Path) -> int:
    """Write the report to ``folder`` and print what it comes to; returns the exit code."""
    merged.write(folder)
    for note in merged.notes:
        sys.stderr.write(f"conformance: {note}\n")
    lines = list(merged.lines)
    code = show.tell(merged.header, lines, merged.footer, where=folder / FILE)
    announce(merged.header, lines, conclusion_of(merged.header, lines, merged.footer))
    return code


def _header(parts: Sequence[Part], lines: Iterable[Key]) -> Line:
    """That of the first shard, with all values of what may differ, and of the whole plan."""
    headers = [part.side.header for part in parts]
    varying = {name: " / ".join(dict.fromkeys(str(h[name]) for h in headers if h.get(name))) for name in MAY_DIFFER}
    whole = {name: value for name, value in headers[0].items() if name not in ("shard", "resumed")}
    if "asked" in whole:
        whole["asked"] = {name: value for name, value in whole["asked"].items() if name != "shard"}
        whole["selection"] = plan_of(lines)
    command = _without_shard(headers[0].get("command", ()))
    selected = any(header.get("selected") for header in headers)
    return {**whole, **varying, "command": command, "selected": selected}


def _without_shard(command: Sequence[str]) -> list[str]:
    """The command of the whole run: it stands in the header so that a case can be run again."""
    words = list(command)
    at = next((at for at, word in enumerate(words) if word in ("--shard", "--conformance-shard")), None)
    if at is not None:
        del words[at : at + 2]
    return [word for word in words if not word.startswith(("--shard=", "--conformance-shard="))]


def _missing(parts: Sequence[Part], header: Line, lines: Mapping[Key, Line]) -> Iterator[str]:
    """What is not there, in sentences."""
    count = parts[0].shard.count
    done = {part.shard.index for part in parts if part.side.footer is not None}
    killed = {part.shard.index: part for part in parts if part.shard.index not in done}
    for index, part in killed.items():
        yield f"shard {index}/{count} ({part.path}) is incomplete: its run did not come to its end"
    missing = [f"{index}/{count}" for index in range(1, count + 1) if index not in done | killed.keys()]
    if missing:
        yield f"shard{'s' * (len(missing) > 1)} {', '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing"
    if not missing and not killed and not header["selected"] and plan_of(lines) != header["plan"]:
        yield f"the shards have {len(lines)} cases, and they are not the {header['plan']['cases']} that were planned"


def _footer(header: Line, lines: Sequence[Line], missing: Sequence[str]) -> Line:
    """What the lines come to: as in the run without shards, or incomplete."""
    complete = not missing and not header["selected"] and all(line["verdict"] != "not-run" for line in lines)
    owing = header.get("owing", ()) if complete else ()
    part = "" if complete else f"selection of {len(lines)} case{'s' * (len(lines) != 1)}"
    found = conclude(lines, require=header.get("require", ()), owing=owing, part=part)
    ending = footer(lines, complete=complete, conclusion=_doubted(found, missing))
    return {**ending, "missing": list(missing)} if missing else ending


def _doubted(found: Conclusion, missing: Sequence[str]) -> Conclusion:
    """The conclusion where something is ``missing``: never green, and what is wrong stays wrong."""
    if not missing:
        return found
    if found.code in (WRONG, BROKEN):
        return replace(found, sentence="; ".join([found.sentence, *missing]))
    return Conclusion(INCONCLUSIVE, f"INCONCLUSIVE: {'; '.join(missing)}")
