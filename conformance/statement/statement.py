"""The statement about one kernel: what a reader may take from a report, what not, and why there is none yet."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.conclude import CONFORMS, INCONCLUSIVE, WRONG
from conformance.records import Line
from conformance.statement.claim import CONTRADICTED, Claim
from conformance.statement.claims import BEYOND, claims_of
from conformance.statement.declaration import Declaration
from conformance.statement.evidence import Tried, tried_by
from conformance.statement.exceptions import Deviation, exceptions_of
from conformance.statement.minimum import lacks
from conformance.statement.untried import untried_of

ABOUT = {
    "device_name": "device",
    "path": "path",
    "arch": "architecture",
    "torch": "torch",
    "runtime": "CUDA, ROCm or XPU",
    "driver": "driver",
    "python": "Python",
    "suite": "suite",
    "profile": "profile",
    "seed": "seed",
}
"""Members of the header that say under which circumstances all of it was found."""


@dataclass(frozen=True)
class Statement:
    """Claims about a ``backend`` with their evidence. Where anything is ``lacking``, it is none.

    ``planned`` and ``declined`` are numbers of cases, ``beyond`` says what works though nobody declared it, ``untried``
    what nothing is said of.
    """

    backend: str
    about: Mapping[str, str]
    claims: tuple[Claim, ...]
    exceptions: tuple[Deviation, ...]
    planned: int
    declined: int
    beyond: tuple[str, ...]
    untried: tuple[str, ...]
    lacking: tuple[str, ...]

    @property
    def contradictions(self) -> tuple[Claim, ...]:
        """The claims that a case of the report contradicts."""
        return tuple(claim for claim in self.claims if claim.found == CONTRADICTED)

    @property
    def code(self) -> int:
        """Exit code: 0 where there is a statement, 1 where a claim is contradicted, else 4."""
        return WRONG if self.contradictions else INCONCLUSIVE if self.lacking else CONFORMS

    @property
    def share(self) -> str:
        """How much of the plan the kernel declined."""
        part = self.declined / self.planned if self.planned else 0.0
        return f"{self.declined:,} of {self.planned:,} planned cases ({part:.1%})"

    def to_json(self) -> dict[str, Any]:
        """As a JSON document has it."""
        return {
            "backend": self.backend,
            "is_stated": self.code == CONFORMS,
            "lacking": list(self.lacking),
            "about": dict(self.about),
            "claims": [claim.to_json() for claim in self.claims],
            "exceptions": [
                {"deviation": each.name, "observed": each.observed, "reason": each.reason, "link": each.link}
                | {"cases": list(each.cases)}
                for each in self.exceptions
            ],
            "planned": self.planned,
            "declined": self.declined,
            "works_undeclared": list(self.beyond),
            "not_tried": list(self.untried),
        }


def statements(header: Line, lines: Sequence[Line], footer: Line | None) -> tuple[Statement, ...]:
    """The statement about every kernel of a report, as `read_report` gives it. Quantisers and linears have none."""
    found = tried_by(lines)
    return tuple(_stated(name, header, lines, footer, found[name]) for name in header["backends"] if name in found)


def _stated(backend: str, header: Line, lines: Sequence[Line], footer: Line | None, tried: list[Tried]) -> Statement:
    declared = Declaration.of(header, backend)
    claims = claims_of(declared, tried)
    missing = (declared.lacking,) if declared.lacking else ()
    return Statement(
        backend=backend,
        about=dict(_about(backend, header, footer, declared)),
        claims=claims,
        exceptions=tuple(exceptions_of(header, tried)),
        planned=len(tried),
        declined=sum(bool(each.declined) for each in tried),
        beyond=tuple(_beyond(claims)),
        untried=tuple(untried_of(header, declared, tried)),
        lacking=(*missing, *lacks(header, lines, footer, tried)),
    )


def _about(backend: str, header: Line, footer: Line | None, declared: Declaration) -> Iterator[tuple[str, str]]:
    """Everything that has to be the same for the statement to hold somewhere else."""
    yield "kernel", backend
    spec = header.get("specs", {}).get(backend, backend)
    if spec != backend:
        yield "named by", spec
    if declared.is_model:
        yield "kind", "a model: it runs on no matrix unit, and says nothing of hardware"
    yield from ((str(name), str(value)) for name, value in header["backends"][backend].items())
    yield from ((word, str(header[name])) for name, word in ABOUT.items() if header.get(name) not in (None, ""))
    yield "command", shlex.join(map(str, header.get("command", ())))
    if footer is not None:
        yield "digest of the report", footer["digest"]


def _beyond(claims: Sequence[Claim]) -> Iterator[str]:
    """What works though it is not declared, or declared not to."""
    for claim in claims:
        right = claim.evidence.count("right")
        if right and claim.said in ("not declared", "declined") and not claim.evidence.count("wrong"):
            in_part = " in part" if claim.found != "holds" else ""
            yield f"{claim.name.removeprefix(BEYOND)}{in_part}: {claim.told}"
