"""From an id to its case, whatever kind of subject it is for."""

from __future__ import annotations

from cases.case import Case, parse_product
from cases.linears.case import PREFIX as LINEAR
from cases.linears.case import LinearCase, parse_linear
from cases.quantising.case import PREFIX as QUANTISE
from cases.quantising.case import QuantCase, parse_quantisation

AnyCase = Case | QuantCase | LinearCase
"""A case for a kernel, a quantiser or a linear."""


def parse_case(text: str) -> AnyCase:
    """The case with id ``text``. Raises ValueError for anything that is no id of a buildable case."""
    kind = text.partition("/")[0]
    if kind == QUANTISE:
        return parse_quantisation(text)
    return parse_linear(text) if kind == LINEAR else parse_product(text)
