"""The closed vocabulary of what can become of a case between two reports, in the order of what a person must do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Weight = Literal["fails", "look", "good", "count"]


@dataclass(frozen=True)
class Kind:
    """A change: what it means, what a person does, and its weight: ``fails`` is exit code 1, ``count`` only a number.

    Where ``by_value``, cases are told apart by what was and is; digests, which always differ, would make groups of one.
    """

    name: str
    meaning: str
    do: str
    weight: Weight
    by_value: bool = True

    @property
    def words(self) -> str:
        """The name as it stands in a sentence."""
        return self.name.replace("-", " ")


_ROWS = (
    Kind("regressed", "right, refused or foreseen before, wrong now", "run `conformance explain` on it", "fails"),
    Kind("newly-wrong", "not judged before, wrong now", "run `conformance explain` on it", "fails"),
    Kind("newly-refused", "computed before, refused now", "restore the product", "fails"),
    Kind("newly-skipped", "judged before, not run now", "run NEW to its end", "fails"),
    Kind("newly-unsupported", "judged before, not supported now", "restore the support", "fails"),
    Kind("removed", "judged before, not in a complete NEW", "restore the case, or take a new OLD", "fails"),
    # No failure: a ledger entry is somebody's decision, with a reason and a link. But never silent either.
    Kind("newly-known-wrong", "right before, wrong now as the ledger foresees", "read the ledger entry", "look"),
    Kind("wrong-otherwise", "wrong in both, in another way", "run `conformance explain` on it", "look"),
    Kind("changed-case", "the input bytes differ, so other changes may be the case's", "ask why", "look", False),
    Kind("judged-otherwise", "another answer is owed, or values are held to another tier", "ask why", "look"),
    Kind("unconfirmed", "no arithmetic explains every bit any more", "record the new library", "look"),
    Kind("other-property", "a property that nobody is owed is seen now, or no more", "know it", "look"),
    Kind("other-bits", "the same verdict and other output bits", "know it, where results must repeat", "look", False),
    Kind("other-plan", "another split of K explains the bits", "know it, where results must repeat", "look"),
    Kind("other-text", "refused or unsupported in other words", "know it, where texts are matched", "look"),
    # Not failing: which cases are drawn depends on the version of Hypothesis.
    Kind("other-batch", "a generated batch came out otherwise", "compare the counts", "look"),
    Kind("fixed", "wrong before, right or refused now", "close what waited for it", "good"),
    Kind("newly-computed", "refused before, computed now", "use it", "good"),
    Kind("entered", "failed before, foreseen by the ledger now", "nothing", "good"),
    Kind("confirmed", "an arithmetic explains every bit now", "nothing", "good"),
    Kind("newly-covered", "not judged before, judged now", "nothing", "good"),
    Kind("new", "not in OLD, in NEW and not wrong", "nothing", "good"),
    Kind("still-wrong", "wrong in both, in the same way", "nothing new", "count"),
    Kind("not-run", "not run in NEW, and not judged in OLD", "run NEW to its end", "count"),
    Kind("not-selected", "in OLD only, and NEW is no complete run of the same plan", "nothing", "count"),
    Kind("dropped", "in OLD only, and not judged there", "nothing", "count"),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _ROWS}
RANKS: Mapping[str, int] = {name: rank for rank, name in enumerate(KINDS)}
"""The place of each kind in the order of what a person must do."""

STATES: Mapping[str, str] = {
    "passed": "right",
    "rejected": "refused",
    "known-deviation": "foreseen",
    "failed": "wrong",
    "stale-deviation": "wrong",
    "error": "wrong",
    "unsupported": "unsupported",
    "not-run": "unrun",
    "": "absent",
}
"""What a verdict is to a comparison; the empty one is that of a case which a report does not have."""

_NEW = ("right", "refused", "foreseen", "wrong", "unsupported", "unrun", "absent")
_LOST = ("newly-unsupported", "newly-skipped", "removed")
_GAIN = ("newly-covered", "newly-covered", "newly-covered", "newly-wrong")
_GRID = {
    "right": ("", "newly-refused", "newly-known-wrong", "regressed", *_LOST),
    "refused": ("newly-computed", "", "newly-known-wrong", "regressed", *_LOST),
    "foreseen": ("fixed", "fixed", "still-wrong", "regressed", *_LOST),
    "wrong": ("fixed", "fixed", "entered", "still-wrong", *_LOST),
    "unsupported": (*_GAIN, "", "not-run", "dropped"),
    "unrun": (*_GAIN, "", "not-run", "dropped"),
    "absent": ("new", "new", "new", "newly-wrong", "new", "not-run", ""),
}
TRANSITIONS: Mapping[tuple[str, str], str] = {
    (old, new): name for old, row in _GRID.items() for new, name in zip(_NEW, row, strict=True)
}
"""From state (of OLD, of NEW) to the name of the change, empty where there is none."""
