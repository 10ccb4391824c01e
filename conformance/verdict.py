"""The closed vocabulary of verdicts and reasons, and the record of one case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Verdict = Literal[
    "passed", "rejected", "unsupported", "known-deviation", "failed", "stale-deviation", "error", "not-run"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

Reason = Literal[
    "raised",  # an exception where a product was owed
    "accepted",  # a result where a refusal was owed
    "wrong-refusal",  # an exception of another class than the contract knows, or an error of the device
    "contract-changed",  # a refusal of the class that the contract knows, in another text: rejected, not failed
    "refused-late",  # a refusal that came after work had been launched
    "later-call-changed",  # a plain call after a refused one is not answered as it was before it
    "nothing-returned",
    "not-a-tensor",
    "tensor-subclass",
    "not-strided",  # a sparse, nested or otherwise packed tensor
    "not-plain",  # a tensor that is no finished matrix: not yet negated, or without memory
    "requires-grad",
    "wrong-shape",
    "wrong-dtype",
    "wrong-device",
    "memory-changed",  # an operand or a guard band was overwritten, or the result lies in one
    "out-not-used",  # an `out` was given, and another tensor came back
    "elements-shared",  # elements of the result lie in the same memory
    "results-differ",  # calls that have to agree bit for bit do not
    "results-shared",  # two results lie in the same memory
    "fake-differs",  # fake operands are answered otherwise than eager ones: one refused, or a result of another form
    "surroundings-changed",  # a global flag, default or random state is not what it was
    "not-a-pair",  # a quantiser that does not return codes and scales
    "wrong-strides",  # scales that do not lie in memory as asked for
    "wrong-scales",  # a scale that no legal quantiser gives
    "wrong-codes",  # a code that no legal quantiser gives under the scale that came with it
    "not-finite-lost",  # a NaN or an infinity that comes back as a number
    "wrong-values",  # tier exact: an element differs from the exact value, correctly rounded
    "out-of-bound",  # tier bound: an element is further off than any right kernel can be
    "wrong-where-undeclared",  # wrong where the kernel says that it does not have it, and should have refused
    "hung",  # no result came within the limit of the case
    "process-died",  # the process that the case ran in ended
    "device-poisoned",  # after the case, a product whose bits are known came out wrong, or raised
    "unexplained-bits",  # tier bits: the declared arithmetic does not give these bits
]


@dataclass(frozen=True)
class WrongElement:
    """One wrong element: where, and what came for what was right, as hex floats and as bits."""

    row: int
    column: int
    actual: str
    expected: str
    actual_bits: str = ""
    expected_bits: str = ""


@dataclass(frozen=True)
class Measured:
    """The numbers behind a verdict, on passes too. ``worst_ulp`` is taken over finite elements."""

    tier: str
    elements: int
    wrong: int
    not_finite: int
    worst_ulp: int
    worst_at: tuple[int, int] | None
    rel_diff: float | None
    err_over_bound: float | None = None
    plan: int | None = None
    explained: int | None = None
    arithmetic: str | None = None
    first_wrong: tuple[WrongElement, ...] = ()


@dataclass(frozen=True)
class CaseRecord:
    """What became of one case on one backend: a ``case`` line of the report.

    ``declined`` names what the kernel declares against it. One of each kind was asked for all the same.

    A wrong result has the ``shape`` of its error, a phrase that says ``where`` it is, and a ``picture`` (see
    `conformance.location`); the ``fault`` of the catalogue that explains it, and the ``finding`` of `explain`.
    """

    id: str
    backend: str
    verdict: Verdict
    reason: str = ""
    detail: str = ""
    deviation: str = ""
    path: str = ""
    expected: str = ""
    check: str = ""
    recipe: str = ""
    holds: bool | None = None
    declined: str = ""
    examples: int | None = None
    reproduce: str = ""
    computed: bool = False
    model: bool = False
    deterministic: bool = True
    seconds: float = 0.0
    input_digest: str = ""
    output_digest: str = ""
    shape: str = ""
    where: str = ""
    picture: Mapping[str, object] | None = None
    fault: str = ""
    finding: str = ""
    measured: Measured | None = None

    def to_json(self) -> dict[str, Any]:
        """A flat JSON object without empty members; the measured numbers stand beside the rest."""
        flat = asdict(self)
        flat.update(flat.pop("measured") or {})
        kept = ("id", "backend", "verdict", "reason", "seconds", "input_digest", "output_digest")
        return {"kind": "case", **{k: v for k, v in flat.items() if k in kept or v not in (None, "", [], ())}}
