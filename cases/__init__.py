"""What is tried: problems, shapes, value families and the plans that combine them. Importing this needs no torch."""

from cases.case import EXAMPLE, Case
from cases.families import FAMILIES, Family
from cases.ids import AnyCase, parse_case
from cases.linears import LinearCase
from cases.plan import PROFILES, Profile, plan
from cases.problem import OUT_DTYPES, Problem
from cases.quantising import QuantCase

__all__ = [
    "EXAMPLE",
    "FAMILIES",
    "OUT_DTYPES",
    "PROFILES",
    "AnyCase",
    "Case",
    "Family",
    "LinearCase",
    "Problem",
    "Profile",
    "QuantCase",
    "parse_case",
    "plan",
]
