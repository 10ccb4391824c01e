"""What was asked of a quantiser or a linear, and what was owed. From the id and the record alone: it needs no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cases import LinearCase, QuantCase
from cases.ids import AnyCase
from cases.problem import OUT_DTYPES
from cases.quantising.options import OPTIONS
from cases.quantising.places import note
from conformance.explaining.owed import WORDS

TIERS: Mapping[tuple[type, str], str] = {
    (QuantCase, "exact"): "exact: every scale and every code one that a right quantiser gives, derived exactly",
    (QuantCase, "bits"): "bits: the declared variant has to give every scale and every code",
    (
        LinearCase,
        "exact",
    ): "exact: x has one quantisation and every sum is exact, so every element must be the right one",
    (
        LinearCase,
        "bound",
    ): "bound: x has one quantisation, and every element within the error bound of any right kernel",
}


def asked_of(case: AnyCase, line: Mapping[str, Any], seed: object) -> dict[str, Any]:
    """The members "question" and "owed" of a document on ``case`` under the suite ``seed``."""
    options = case.options if isinstance(case, QuantCase | LinearCase) else ()
    return {
        "question": {
            "product": _quantised(case) if isinstance(case, QuantCase) else _linear(case),
            "values": f"{case.family.name}, seed {case.seed} under suite seed {seed}",
            "values_catch": case.family.catches,
            "note": note(case) if isinstance(case, QuantCase) else "",
            "scenario": " and ".join(f"{name} (the {OPTIONS[name].about})" for name in options),
            "scenario_catches": "; ".join(OPTIONS[name].catches for name in options),
        },
        "owed": {
            "expected": str(line.get("expected", "")),
            "words": _words(case, str(line.get("expected", ""))),
            "why": "",
            "tier": TIERS.get((type(case), str(line.get("tier") or case.tier)), ""),
        },
    }


def _words(case: AnyCase, expected: str) -> str:
    product = "right codes and scales" if isinstance(case, QuantCase) else "a right result"
    return WORDS.get(expected, expected).replace("a right product", product)


def _quantised(case: QuantCase) -> str:
    one = case.granularity
    each = f"{one.columns} of K in each row" if one.is_of_tokens else f"each {one.rows} x {one.columns} block"
    return f"x [{case.rows}, {case.columns}] in {OUT_DTYPES[case.source]} to {case.target}, a scale for {each}"


def _linear(case: Any) -> str:
    p, bias = case.problem, f" plus a bias [{case.problem.n}]" if case.has_bias else ""
    return (
        f"x [{p.m}, {p.k}], quantised for 128 of K in each row, times a weight [{p.n}, {p.k}] transposed{bias}, "
        f"[{p.m}, {p.n}] in {OUT_DTYPES[p.out]}"
    )
