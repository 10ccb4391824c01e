"""What a session comes to: its exit code and the sentence that goes with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conformance.coverage import BLOCKS, missing, scales_of, told_scales
from conformance.subjects.kinds import KERNEL, LINEAR, QUANTISER, kind_of

CONFORMS, WRONG, MISUSED, BROKEN, INCONCLUSIVE = 0, 1, 2, 3, 4
WORDS = ("CONFORMS", "WRONG", "MISUSED", "BROKEN", "INCONCLUSIVE")
CHANGED = "contract-changed"
"""The reason of a refusal in another text than is known."""
REMEDY = "add --backend emulated-sm90, or --require the path whose refusal you test"
Line = dict[str, Any]


@dataclass(frozen=True)
class Conclusion:
    """Exit code (see the constants of this module) and headline."""

    code: int
    sentence: str


def conclude(
    lines: Sequence[Line],
    *,
    require: Sequence[str] = (),
    owing: Sequence[str] = (),
    part: str = "",
    is_shard: bool = False,
    broke: str = "",
) -> Conclusion:
    """The conclusion from the ``case`` lines of a session. Only a session without any open question is green.

    ``owing`` are known deviations that have to have been seen: those of this machine, if the plan was complete.
    ``part`` says what was judged where that was not the whole profile, so that nobody takes it for the whole. Of a
    shard, nobody asks whether it computed a product, or has a case at all: that is for the whole plan to answer.
    ``broke`` is what happened to the harness outside of any case.
    """
    counts = Counter(line["verdict"] for line in lines)
    wrong = _wrong(lines, counts, owing)
    if wrong:
        return Conclusion(WRONG, f"WRONG: {'; '.join([*wrong, *_cut_short(lines, counts)])}")
    if broke:
        return Conclusion(BROKEN, f"BROKEN: {broke}")
    if counts["error"]:
        return Conclusion(BROKEN, f"BROKEN: the harness itself failed on {counts['error']} of {len(lines)} cases")
    doubt = _doubt(lines, counts, require, is_shard)
    if doubt:
        return Conclusion(INCONCLUSIVE, f"INCONCLUSIVE: {doubt}")
    unconfirmed = sum(line.get("arithmetic") == "unconfirmed" for line in lines)
    noted = f" ({unconfirmed} of them in an arithmetic that no recording confirms)" if unconfirmed else ""
    head = f"CONFORMS ({part}: not the whole profile)" if part else "CONFORMS"
    return Conclusion(CONFORMS, f"{head}: {_listed(counts)}{noted}{told_scales(_products(lines))}{_changed(lines)}")


def worst(*codes: int) -> int:
    """The exit code of several findings: what is wrong is certain, whatever else broke or stayed open."""
    return next(code for code in (WRONG, BROKEN, INCONCLUSIVE, CONFORMS) if code in codes)


def conclusion_of(header: Line, lines: Sequence[Line], footer: Line | None) -> Conclusion:
    """What a report says: the word of its footer; without one, how far the run came, which is never green.

    What failed by then stays wrong, whatever the rest would have been.
    """
    if footer is not None:
        code: int = footer["exit_code"]
        return Conclusion(code, str(footer.get("conclusion") or WORDS[code]))
    counts = Counter(line["verdict"] for line in lines)
    planned = header.get("plan", {}).get("cases", "an unknown number of")
    judged = len(lines) - counts["not-run"]
    stand = f"the report is incomplete, its run was ended after {judged} of {planned} planned cases"
    wrong = _wrong(lines, counts, ())
    if wrong:
        return Conclusion(WRONG, f"WRONG so far: {'; '.join(wrong)}; {stand}")
    return Conclusion(INCONCLUSIVE, f"INCONCLUSIVE: {stand}")


def _changed(lines: Sequence[Line]) -> str:
    """What to add where texts of refusals are no longer those of the contract; nobody is wrong then."""
    changed = sum(line.get("reason") == CHANGED for line in lines)
    said = "1 refusal has" if changed == 1 else f"{changed} refusals have"
    return f"; the contract changed: {said} another text" if changed else ""


def _wrong(lines: Sequence[Line], counts: Counter[str], owing: Sequence[str]) -> list[str]:
    """What is wrong, part by part: failures, and entries of the ledger that say too much."""
    judged = len(lines) - counts["not-run"]
    wrong = [f"{counts['failed']} of {judged} cases failed"] if counts["failed"] else []
    seen = Counter(line.get("deviation") for line in lines if line["verdict"] == "known-deviation")
    passed = Counter(line.get("deviation") for line in lines if line["verdict"] == "stale-deviation")
    for name, count in passed.items():
        covered = count + seen[name]
        if seen[name]:
            wrong.append(f"deviation {name} is too broad: {count} of {covered} cases that it covers pass, so narrow it")
        else:
            wrong.append(f"deviation {name} is stale: {_all(count)} that it covers, so close it with 'until'")
    unseen = [name for name in owing if not seen[name] and not passed[name]]
    return wrong + [f"deviation {name} matches no case of this machine, so narrow its 'where'" for name in unseen]


def _all(count: int) -> str:
    return f"all {count} cases pass" if count > 1 else "the one case passes"


def _doubt(lines: Sequence[Line], counts: Counter[str], require: Sequence[str], is_shard: bool) -> str:
    if not lines:
        return "" if is_shard else "no case was selected"
    cut = _cut_short(lines, counts)
    if cut:
        return cut[0]
    lacking = missing(require, lines)
    if lacking:
        return f"required but not exercised here: {', '.join(lacking)}"
    if is_shard:
        return ""
    return "" if require else _nothing_computed(lines)


def _nothing_computed(lines: Sequence[Line]) -> str:
    """Of which kind of subject all that was asked, and nothing computed."""
    for kind in (KERNEL, QUANTISER, LINEAR):
        asked = [line for line in lines if kind_of(line.get("id", "")) is kind]
        if asked and not any(line.get("computed") for line in asked):
            told = _reasons(asked) or (REMEDY if kind is KERNEL else "")
            return "; ".join(filter(None, (kind.missing, told)))
    products = _products(lines)
    blocks = [line for line in products if scales_of(line) == BLOCKS]
    if blocks and not any(line.get("computed") for line in blocks):
        return f"no block-scaled product was computed{told_scales(products)}; {REMEDY}"
    return ""


def _products(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if kind_of(line.get("id", "")) is KERNEL]


def _reasons(lines: Sequence[Line]) -> str:
    """Why nothing came of kernels that say it themselves, each in its own words; empty where one was called."""
    if any(line["verdict"] != "unsupported" for line in lines):
        return ""
    by_backend: dict[str, Counter[str]] = {}
    for line in lines:
        by_backend.setdefault(line["backend"], Counter())[line["reason"]] += 1
    return "; ".join(counts.most_common(1)[0][0].rstrip(".") for counts in by_backend.values())


def _cut_short(lines: Sequence[Line], counts: Counter[str]) -> list[str]:
    unrun = counts["not-run"]
    return [f"cut short, {unrun} of {len(lines)} planned cases were not run"] if unrun else []


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()) or "it has no case"
