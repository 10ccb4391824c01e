"""A claim about a kernel: what was said of it beforehand, what was found, and the cases that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from conformance.statement.evidence import Evidence, Tried

Said = Literal["owed", "declared", "expected", "not limited", "not declared", "declined"]
Found = Literal["holds", "holds but for exceptions", "refused", "holds in part", "contradicted", "not tried"]
CONTRADICTED: Found = "contradicted"


@dataclass(frozen=True)
class Claim:
    """``name`` is what is claimed, ``said`` by whom, and ``note`` what the counts of the ``evidence`` do not tell."""

    name: str
    said: Said
    found: Found
    evidence: Evidence
    note: str = ""

    @classmethod
    def of(cls, name: str, said: Said, tried: Sequence[Tried], note: str = "", *, refuses: bool = False) -> Claim:
        """The claim that these cases are about; one that ``refuses`` holds where refusals came."""
        evidence = Evidence.of(tried)
        return cls(name, said, _found(evidence, refuses), evidence, note)

    @property
    def told(self) -> str:
        """The evidence in words."""
        return "; ".join(filter(None, (self.evidence.told, self.note)))

    def to_json(self) -> dict[str, Any]:
        """As a JSON document has it."""
        more = {"note": self.note} if self.note else {}
        return {"claim": self.name, "said": self.said, "found": self.found, **more, **self.evidence.to_json()}


def _found(evidence: Evidence, refuses: bool) -> Found:
    """What the ``evidence`` comes to."""
    if evidence.count("wrong"):
        return CONTRADICTED
    if not evidence.is_tried:
        return "not tried"
    if evidence.count("known"):
        return "holds but for exceptions"
    if refuses or not evidence.count("refused"):
        return "holds"
    return "holds in part" if evidence.count("right") else "refused"
