"""The reports of all shards, put together to the one of the whole run: `conformance merge`. Needs no torch."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from conformance.ci.announce import announce
from conformance.ci.junit import write_junit
from conformance.conclude import BROKEN, INCONCLUSIVE, WRONG, Conclusion, conclude, conclusion_of
from conformance.diff.sides import Side, differing
from conformance.errors import UsageError
from conformance.records import FILE, Line, ReportWriter, footer, plan_of
from conformance.sharding import Key, Shard
from conformance.summary import print_summary

MAY_DIFFER = ("python", "driver", "device", "device_name")
"""What shards of one run need not have in common, since they ran on several machines."""
SAME = ("input_digest", "verdict", "reason", "output_digest")
"""What has to be the same where two shards judged a case."""


@dataclass(frozen=True)
class Part:
    """The report of one shard, and its path."""

    path: Path
    side: Side
    shard: Shard

    @classmethod
    def read(cls, path: Path) -> Part:
        """The report ``path``, a folder or a file. Raises UsageError where it is none, or of no shard."""
        side = Side.read(path)
        try:
            shard = Shard.parse(side.header.get("shard", ""))
        except UsageError:
            raise UsageError(
                f"the report {str(path)!r} is of no shard: merge takes what `run --shard I/N` leaves"
            ) from None
        if not side.header.get("plan", {}).keys() >= {"cases", "digest"}:
            raise UsageError(f"the report {str(path)!r} is of a shard, and does not say of which plan")
        return cls(path, side, shard)


@dataclass(frozen=True)
class Merged:
    """What the shards come to: header, case lines and footer, and what a person should know of the merging."""

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
        write_junit(folder, self.header, self.lines, self.footer)


def merge(paths: Sequence[Path], folder: Path) -> Merged:
    """Put the shards ``paths`` together, for ``folder``. Raises UsageError where they do not belong together."""
    parts = sorted((Part.read(path) for path in paths), key=lambda part: part.shard.index)
    for part in parts:
        if (part.path / FILE if part.path.is_dir() else part.path).resolve() == (folder / FILE).resolve():
            raise UsageError(f"the folder {str(folder)!r} holds one of the shards: name another with --report")
        _agree(parts[0], part)
    lines, notes = _joined(parts)
    header = _header(parts)
    doubts = list(_doubts(parts, header, lines))
    if doubts:
        header["shard"] = f"{'+'.join(dict.fromkeys(str(part.shard.index) for part in parts))}/{parts[0].shard.count}"
    complete = not doubts and not header["selected"] and all(line["verdict"] != "not-run" for line in lines.values())
    owing = header.get("owing", ()) if complete else ()
    selection = "" if complete else f"selection of {len(lines)} case{'s' * (len(lines) != 1)}"
    found = conclude(list(lines.values()), require=header.get("require", ()), owing=owing, part=selection)
    ending = footer(lines.values(), complete=complete, conclusion=_doubted(found, doubts))
    return Merged(header, tuple(lines.values()), ending, tuple(notes))


def tell(merged: Merged, folder: Path) -> int:
    """Write the report to ``folder`` and print what it comes to; returns the exit code."""
    merged.write(folder)
    for note in merged.notes:
        sys.stderr.write(f"conformance: {note}\n")
    conclusion, where = conclusion_of(merged.footer), str(folder / FILE)
    print_summary(Console(file=sys.stdout), merged.header, merged.lines, conclusion=conclusion.sentence, where=where)
    announce(merged.header, merged.lines, conclusion)
    return conclusion.code


def _agree(one: Part, other: Part) -> None:
    """Raise UsageError for the first thing that shards of one run have in common and these two have not."""
    rows = [row for row in differing(one.side, other.side) if row[0] not in MAY_DIFFER]
    for name in ("plan", "require", "owing"):
        rows.append((name, str(one.side.header.get(name)), str(other.side.header.get(name))))
    rows.append(("the number of shards", str(one.shard.count), str(other.shard.count)))
    for name, old, new in rows:
        if old != new:
            raise UsageError(
                f"{str(one.path)!r} and {str(other.path)!r} are no shards of one run: "
                f"{name} is {old} in the first and {new} in the second"
            )


def _joined(parts: Sequence[Part]) -> tuple[dict[Key, Line], list[str]]:
    """The lines of all shards, in the order of the shards; UsageError where two shards contradict each other."""
    found: dict[Key, tuple[Line, Part]] = {}
    twice: dict[tuple[Path, Path], int] = {}
    for part in parts:
        for key, line in part.side.lines.items():
            other, before = found.get(key, (line, part))
            if before is not part and "not-run" not in (line["verdict"], other["verdict"]):
                _same(before, part, other, line)
                twice[before.path, part.path] = twice.get((before.path, part.path), 0) + 1
            if key not in found or other["verdict"] == "not-run":
                found[key] = line, part
    notes = [
        f"{count} case{'s were' if count > 1 else ' was'} judged by {one} and by {two}, alike"
        for (one, two), count in twice.items()
    ]
    return {key: line for key, (line, _) in found.items()}, notes


def _same(one: Part, two: Part, first: Line, second: Line) -> None:
    for name in SAME:
        if first[name] != second[name] and (name != "output_digest" or first.get("deterministic", True)):
            raise UsageError(
                f"{str(one.path)!r} and {str(two.path)!r} both judge {first['id']} on {first['backend']}, and disagree "
                f"({name} is {first[name] or 'empty'} and {second[name] or 'empty'}): leave one of them out"
            )


def _header(parts: Sequence[Part]) -> Line:
    """That of the first shard, with all values of what may differ, and of the whole plan."""
    headers = [part.side.header for part in parts]
    varying = {name: " / ".join(dict.fromkeys(str(h[name]) for h in headers if h.get(name))) for name in MAY_DIFFER}
    whole = {name: value for name, value in headers[0].items() if name != "shard"}
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


def _doubts(parts: Sequence[Part], header: Line, lines: Mapping[Key, Line]) -> Iterator[str]:
    """What is not there."""
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


def _doubted(found: Conclusion, doubts: Sequence[str]) -> Conclusion:
    """The conclusion of a merge with ``doubts``: never green, and what is wrong stays wrong."""
    if not doubts:
        return found
    if found.code in (WRONG, BROKEN):
        return replace(found, sentence="; ".join([found.sentence, *doubts]))
    return Conclusion(INCONCLUSIVE, f"INCONCLUSIVE: {'; '.join(doubts)}")
