"""Two reports, case by case, to a list of differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.diff.kinds import KINDS, RANKS, STATES, TRANSITIONS, Kind
from conformance.diff.sides import Side

Line = Mapping[str, Any]
NOTHING: Line = {"verdict": "", "reason": ""}


@dataclass(frozen=True)
class Difference:
    """What became of one case: ``change`` is a name of `KINDS`, ``old`` and ``new`` are what differs."""

    change: str
    backend: str
    id: str
    check: str
    old: str
    new: str
    detail: str = ""

    @property
    def kind(self) -> Kind:
        """The row of the vocabulary."""
        return KINDS[self.change]


def compare(old: Side, new: Side, *, covered: bool) -> list[Difference]:
    """Every difference, in the order of `KINDS`. ``covered``: NEW answers for every case that it lacks."""
    keys = {**dict.fromkeys(old.lines), **dict.fromkeys(new.lines)}
    found = [
        difference
        for key in keys
        for difference in _of_case(key, old.lines.get(key, NOTHING), new.lines.get(key, NOTHING), covered)
    ]
    return sorted(found, key=lambda x: (RANKS[x.change], x.backend, x.check, x.id))


def _of_case(key: tuple[str, str], was: Line, now: Line, covered: bool) -> Iterator[Difference]:
    about = (*key, str((now if now["verdict"] else was).get("check", "")))
    name = _transition(was, now)
    if name in ("removed", "dropped") and not covered:
        name = "not-selected"
    if name:
        yield Difference(name, *about, _verdict(was), _verdict(now), str(now.get("detail", "")))
    if was["verdict"] and now["verdict"]:
        yield from (Difference(name, *about, old, new) for name, old, new in _noted(was, now))


def _transition(was: Line, now: Line) -> str:
    name = TRANSITIONS[STATES[was["verdict"]], STATES[now["verdict"]]]
    # Another ledger entry that foresees the same is another line of a file, not another fault.
    otherwise = (was["verdict"], was["reason"]) != (now["verdict"], now["reason"])
    return "wrong-otherwise" if name == "still-wrong" and otherwise else name


def _verdict(line: Line) -> str:
    reason = line["reason"] if STATES[line["verdict"]] in ("wrong", "foreseen") else ""
    return f"{line['verdict'] or 'absent'}{reason and f' ({reason})'}"


def _noted(was: Line, now: Line) -> Iterator[tuple[str, str, str]]:
    """What differs beside the verdict; never times and never measured numbers."""
    inputs = [str(line["input_digest"]) for line in (was, now)]
    if all(inputs) and inputs[0] != inputs[1]:
        yield "changed-case", inputs[0], inputs[1]
    yield from _owed(was, now)
    if was["verdict"] == now["verdict"]:
        yield from _of_bits(was, now, same_inputs=inputs[0] == inputs[1])
        yield from _of_words(was, now)


def _owed(was: Line, now: Line) -> Iterator[tuple[str, str, str]]:
    for name in ("expected", "tier"):
        old, new = was.get(name), now.get(name)
        if old and new and old != new:
            yield "judged-otherwise", str(old), str(new)


def _of_bits(was: Line, now: Line, *, same_inputs: bool) -> Iterator[tuple[str, str, str]]:
    bits = [str(line["output_digest"]) for line in (was, now)]
    loose = not all(line.get("deterministic", True) for line in (was, now))
    if same_inputs and all(bits) and bits[0] != bits[1] and not loose:
        yield "other-bits", bits[0], bits[1]
    plans = [line.get("plan") for line in (was, now)]
    if None not in plans and plans[0] != plans[1]:
        yield "other-plan", f"{plans[0]} K blocks", f"{plans[1]} K blocks"
    doubted = [line.get("arithmetic") == "unconfirmed" for line in (was, now)]
    if doubted[0] != doubted[1]:
        yield "unconfirmed" if doubted[1] else "confirmed", _arithmetic(was), _arithmetic(now)
    if None not in (was.get("holds"), now.get("holds")) and was["holds"] != now["holds"]:
        yield "other-property", _seen(was), _seen(now)


def _seen(line: Line) -> str:
    return "seen" if line["holds"] else "not seen"


def _arithmetic(line: Line) -> str:
    return str(line.get("arithmetic", "no arithmetic"))


def _of_words(was: Line, now: Line) -> Iterator[tuple[str, str, str]]:
    if now["verdict"] in ("rejected", "unsupported") and _words(was) != _words(now):
        yield "other-text", _words(was), _words(now)
    if now.get("check") == "generated" and now["verdict"] == "passed" and _words(was) != _words(now):
        yield "other-batch", _words(was), _words(now)


def _words(line: Line) -> str:
    """The first line of what was said; the contract speaks of no more, and the rest may hold addresses."""
    said = [str(part) for part in (line["reason"], line.get("detail")) if part]
    return ": ".join(said).split("\n")[0]
