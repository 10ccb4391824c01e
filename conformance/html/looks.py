"""How a verdict, or a change between reports, looks: a symbol and a tone, so that nothing is told by colour alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from conformance.diff.kinds import KINDS

Tone = Literal["good", "calm", "known", "open", "bad", "none"]
"""What `page.css` has two colours for, in light and in dark."""


@dataclass(frozen=True)
class Look:
    """A symbol that fonts have everywhere, and a tone."""

    symbol: str
    tone: Tone


VERDICTS: Mapping[str, Look] = {
    "failed": Look("✗", "bad"),
    "error": Look("!", "bad"),
    "stale-deviation": Look("↺", "bad"),
    "not-run": Look("?", "open"),
    "known-deviation": Look("≈", "known"),
    "unsupported": Look("–", "none"),
    "rejected": Look("⊘", "calm"),
    "passed": Look("✓", "good"),
}
"""Every verdict, the worst first."""
RANKS: Mapping[str, int] = {verdict: rank for rank, verdict in enumerate(VERDICTS)}
WRONG = ("failed", "error", "stale-deviation")
ANSWERS: Mapping[str, str] = {
    "failed": "wrong, or raised what it may not",
    "error": "the harness itself broke",
    "stale-deviation": "known as wrong, and right now",
    "not-run": "planned, and never tried",
    "known-deviation": "wrong as the ledger foresees",
    "unsupported": "declared, with a reason",
    "rejected": "refused, as it has to be",
    "passed": "right",
}
"""What each verdict says, in a few words."""

_WEIGHTS: Mapping[str, Look] = {
    "fails": Look("✗", "bad"),
    "look": Look("!", "open"),
    "good": Look("✓", "good"),
    "count": Look("·", "none"),
}
CHANGES: Mapping[str, Look] = {name: _WEIGHTS[kind.weight] for name, kind in KINDS.items()}
"""Every kind of change, in the order of what a person must do."""

CODES: Mapping[int, Look] = {0: Look("✓", "good"), 1: Look("✗", "bad"), 4: Look("?", "open")}
"""Exit codes; any other is a harness that broke."""
BROKE = Look("!", "bad")
