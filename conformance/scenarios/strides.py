"""Operands of one shape whose strides change from call to call."""

from __future__ import annotations

from cases.scenarios import SCENARIOS, STRIDED
from conformance.layouts import ALL_PADDED, LAYOUTS, Layout
from conformance.presentation import present
from conformance.scenarios.called import Called
from conformance.scenarios.seen import odd
from conformance.trial import Finding, Trial

NAMES = tuple(one.name for one in SCENARIOS.values() if one.capability == STRIDED and not one.shares_scales)
IN_TURN: dict[str, Layout] = {
    "with every line padded": ALL_PADDED,
    **{f"laid out as {name}": LAYOUTS[name] for name in NAMES},
}


def restrided(trial: Trial) -> Finding:
    """Call with the same operands in one layout after the other, and as usual after each.

    Before them the kernel has seen no call of this shape. What it makes of a layout is judged elsewhere, here only
    what it takes from there into the plain call.
    """
    for how, layout in IN_TURN.items():
        trial.call(present(trial.operands, layout))
        plain = Called.of(trial)
        if plain.judgement.verdict == "failed":
            return Finding.of(odd(f"after a call {how}", plain) or plain.judgement, plain.outcome)
    return Finding.of(plain.judgement, plain.outcome)
