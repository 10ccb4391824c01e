"""The tensors of the value families."""

from __future__ import annotations

from collections.abc import Callable

from cases.case import Case
from cases.fill.exact import tagged_integers
from cases.fill.ordinary import quantised_normal, uniform_codes
from cases.fill.special import special_values
from cases.fill.values import Values
from cases.stream import Stream

FILLS: dict[str, Callable[[Case, Stream], Values]] = {
    "tagged-integers": tagged_integers,
    "uniform-codes": uniform_codes,
    "quantised-normal": quantised_normal,
    "special-values": special_values,
}
