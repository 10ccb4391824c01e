"""The reports of shards: whether they belong together, and their lines as those of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.diff.sides import Side, differing
from conformance.errors import UsageError
from conformance.records import Line
from conformance.shards.share import Key, Shard

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
            told = f"the report {str(path)!r} is of no shard: merge takes what `run --shard I/N` leaves"
            raise UsageError(told) from None
        if not side.header.get("plan", {}).keys() >= {"cases", "digest"}:
            raise UsageError(f"the report {str(path)!r} is of a shard, and does not say of which plan")
        return cls(path, side, shard)


def check_agreement(one: Part, other: Part) -> None:
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


def join(parts: Sequence[Part]) -> tuple[dict[Key, Line], list[str]]:
    """The lines of all ``parts`` in their order, and what to know of them: cases that were judged twice.

    Of two lines of a case, one that says it was not run yields. Raises UsageError where both judge and disagree.
    """
    found: dict[Key, tuple[Line, Part]] = {}
    twice: dict[tuple[Path, Path], int] = {}
    for part in parts:
        for key, line in part.side.lines.items():
            other, before = found.get(key, (line, part))
            if before is not part and "not-run" not in (line["verdict"], other["verdict"]):
                _check_same(before, part, other, line)
                twice[before.path, part.path] = twice.get((before.path, part.path), 0) + 1
            if key not in found or other["verdict"] == "not-run":
                found[key] = line, part
    notes = [
        f"{count} case{'s were' if count > 1 else ' was'} judged by {one} and by {two}, alike"
        for (one, two), count in twice.items()
    ]
    return {key: line for key, (line, _) in found.items()}, notes


def _check_same(one: Part, two: Part, first: Line, second: Line) -> None:
    for name in SAME:
        if first[name] != second[name] and (name != "output_digest" or first.get("deterministic", True)):
            raise UsageError(
                f"{str(one.path)!r} and {str(two.path)!r} both judge {first['id']} on {first['backend']}, and disagree "
                f"({name} is {first[name] or 'empty'} and {second[name] or 'empty'}): leave one of them out"
            )
