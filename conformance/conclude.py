"""What a session comes to: its exit code and the sentence that goes with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

CONFORMS, WRONG, MISUSED, BROKEN, INCONCLUSIVE = 0, 1, 2, 3, 4
WORDS = ("CONFORMS", "WRONG", "MISUSED", "BROKEN", "INCONCLUSIVE")
CHANGED = "contract-changed"
"""The reason of a refusal in another text than is known."""
EXECUTED = ("passed", "rejected", "known-deviation", "failed", "stale-deviation")

BLOCKS = "block scales"
REMEDY = "add --backend emulated-sm90, or --require the path whose refusal you test"


@dataclass(frozen=True)
class Conclusion:
    """Exit code (see the constants of this module) and headline."""

    code: int
    sentence: str


def conclude(
    lines: Sequence[dict[str, Any]],
    *,
    require: Sequence[str] = (),
    owing: Sequence[str] = (),
    part: str = "",
    is_shard: bool = False,
) -> Conclusion:
    """The conclusion from the ``case`` lines of a session. Only a session without any open question is green.

    ``owing`` are known deviations that have to have been seen: those of this machine, if the plan was complete.
    ``part`` says what was judged where that was not the whole profile, so that nobody takes it for the whole. Of a
    shard, nobody asks whether it computed a product, or has a case at all: that is for the whole plan to answer.
    """
    counts = Counter(line["verdict"] for line in lines)
    wrong = _wrong(lines, counts, owing)
    if wrong:
        return Conclusion(WRONG, f"WRONG: {'; '.join(wrong)}")
    if counts["error"]:
        return Conclusion(BROKEN, f"BROKEN: the harness itself failed on {counts['error']} of {len(lines)} cases")
    doubt = _doubt(lines, counts, require, is_shard)
    if doubt:
        return Conclusion(INCONCLUSIVE, f"INCONCLUSIVE: {doubt}")
    unconfirmed = sum(line.get("arithmetic") == "unconfirmed" for line in lines)
    noted = f" ({unconfirmed} of them in an arithmetic that no recording confirms)" if unconfirmed else ""
    head = f"CONFORMS ({part}: not the whole profile)" if part else "CONFORMS"
    return Conclusion(CONFORMS, f"{head}: {_listed(counts)}{noted}{_computed(lines)}{_changed(lines)}")


def conclusion_of(footer: dict[str, Any] | None) -> Conclusion:
    """What a report says: the word of its footer; without one its run did not come to its end, and is never green."""
    if footer is None:
        return Conclusion(INCONCLUSIVE, "INCONCLUSIVE: the report has no footer, so its run did not come to its end")
    code: int = footer["exit_code"]
    return Conclusion(code, str(footer.get("conclusion") or WORDS[code]))


def worst(*codes: int) -> int:
    """The exit code of several findings: what is wrong is certain, whatever else broke or stayed open."""
    return next(code for code in (WRONG, BROKEN, INCONCLUSIVE, CONFORMS) if code in codes)


def _changed(lines: Sequence[dict[str, Any]]) -> str:
    """What to add where texts of refusals are no longer those of the contract; nobody is wrong then."""
    changed = sum(line.get("reason") == CHANGED for line in lines)
    said = "1 refusal has" if changed == 1 else f"{changed} refusals have"
    return f"; the contract changed: {said} another text" if changed else ""


def _wrong(lines: Sequence[dict[str, Any]], counts: Counter[str], owing: Sequence[str]) -> list[str]:
    """What is wrong, part by part: failures, and entries of the ledger that say too much."""
    wrong = [f"{counts['failed']} of {len(lines)} cases failed"] if counts["failed"] else []
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


def _doubt(lines: Sequence[dict[str, Any]], counts: Counter[str], require: Sequence[str], is_shard: bool) -> str:
    if not lines:
        return "" if is_shard else "no case was selected"
    if counts["not-run"]:
        return f"cut short, {counts['not-run']} of {len(lines)} planned cases were not run"
    exercised = {line["path"] for line in lines if line["verdict"] in EXECUTED and not line.get("model")}
    missing = [path for path in require if path not in exercised]
    if missing:
        return f"required but not exercised here: {', '.join(missing)}"
    if is_shard:
        return ""
    if not require and not any(line.get("computed") for line in lines):
        return f"no product was computed; {REMEDY}"
    blocks = [line for line in lines if _scales_of(line) == BLOCKS]
    if not require and blocks and not any(line.get("computed") for line in blocks):
        return f"no block-scaled product was computed{_computed(lines)}; {REMEDY}"
    return ""


def _scales_of(line: dict[str, Any]) -> str:
    """The recipe of a case where one scale covers all of K, and `BLOCKS` for all the others."""
    recipe: str = line.get("recipe", "")
    return recipe if recipe in _whole_recipes() else BLOCKS


def _whole_recipes() -> tuple[str, ...]:
    # Not before the command line has kept a user's own `cases` folder out of the way.
    from cases.problem import WHOLE_RECIPES

    return WHOLE_RECIPES


def _computed(lines: Sequence[dict[str, Any]]) -> str:
    """Who computed what, where it was not block scales alone: nobody has to take one for the other."""
    backends: dict[str, dict[str, None]] = {kind: {} for kind in (BLOCKS, *_whole_recipes())}
    for line in lines:
        if line.get("computed"):
            backends[_scales_of(line)][line.get("backend", "")] = None
    if not any(backends[kind] for kind in _whole_recipes()):
        return ""
    told = [f"{kind} by {' and '.join(sorted(names))}" for kind, names in backends.items() if names]
    return f" (computed: {', '.join(told)})"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()) or "it has no case"
