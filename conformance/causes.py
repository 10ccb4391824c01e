"""Failing cases grouped by cause: the named fault, else the reason and the shape of the error."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.conclude import CHANGED
from conformance.subjects.kinds import kind_of

Line = dict[str, Any]
WRONG = ("failed", "stale-deviation", "error")


@dataclass(frozen=True)
class Cause:
    """Cases of one backend that are wrong for the same cause: its name, a sentence about the first, how to see it."""

    backend: str
    verdict: str
    name: str
    sentence: str
    members: tuple[Line, ...]

    def reproduction(self, header: Mapping[str, Any]) -> str:
        """The command that runs the first case again."""
        return reproduction(header, self.members[0])


def causes_of(lines: Sequence[Line]) -> list[Cause]:
    """What is wrong, the cause of most cases first; then what is only worded otherwise than the contract knows."""
    groups: dict[tuple[bool, str, str, str], list[Line]] = {}
    for line in lines:
        is_wrong = line["verdict"] in WRONG
        if is_wrong or line["reason"] == CHANGED:
            groups.setdefault((not is_wrong, line["backend"], line["verdict"], _name(line)), []).append(line)
    order = sorted(groups, key=lambda key: (key[0], -len(groups[key])))
    return [Cause(*key[1:], _sentence(groups[key][0]), tuple(groups[key])) for key in order]


def _name(line: Line) -> str:
    if line["verdict"] == "stale-deviation":
        return str(line.get("deviation", ""))
    shape = line.get("shape")
    return str(line.get("fault") or line["reason"] + (f", {shape}" if shape else ""))


def _sentence(line: Line) -> str:
    """What `explain` found, else what was measured; and which elements are wrong."""
    said = str(line.get("finding") or line.get("detail", ""))
    where = line.get("where")
    return f"{said} ({where})" if where and where not in said else said


def reproduction(header: Mapping[str, Any], line: Line) -> str:
    """The command that judges ``line`` alone, with the same inputs."""
    words = [
        "conformance",
        "run",
        kind_of(line["id"]).option,
        header.get("specs", {}).get(line["backend"], line["backend"]),
    ]
    words += ["--device", header["device"]] if any("-device" in word for word in header.get("command", ())) else []
    words += ["--seed", str(header["seed"])] if header["seed"] else []
    return shlex.join([*words, "--case", line.get("reproduce") or line["id"]])
