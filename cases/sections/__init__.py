"""The sections of a plan: for each thing that can go wrong, the cases that would show it.

A section yields the cases of every profile, each with the least thorough profile that holds it: what `quick` tries,
`standard` and `full` try too. A case that several sections ask for stands in the first of them.
"""

from __future__ import annotations

from cases.sections.registry import FULL, ORDINARY, QUICK, SECTIONS, STANDARD, Section, fill

# Imported in the order in which their sections are listed.
from cases.sections import sizes, values, calls, rules, uses, whole  # isort: skip

FILLED_BY = (sizes, values, calls, rules, uses, whole)
"""The modules whose import enters the sections."""

__all__ = ["FULL", "ORDINARY", "QUICK", "SECTIONS", "STANDARD", "Section", "fill"]
