"""What is tried: problems, shapes, value families and the plans that combine them. Importing this needs no torch."""

from cases.case import EXAMPLE, Case, parse_case
from cases.families import FAMILIES, Family
from cases.plan import PROFILES, Profile, plan
from cases.problem import OUT_DTYPES, Problem

__all__ = [
    "EXAMPLE",
    "FAMILIES",
    "OUT_DTYPES",
    "PROFILES",
    "Case",
    "Family",
    "Problem",
    "Profile",
    "parse_case",
    "plan",
]
