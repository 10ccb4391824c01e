"""What end-to-end linears are tried with. Importing this needs no torch."""

from cases.linears.case import EXAMPLE, PREFIX, LinearCase, parse_linear
from cases.linears.families import FAMILIES, LinearFamily
from cases.linears.plan import linears

__all__ = ["EXAMPLE", "FAMILIES", "PREFIX", "LinearCase", "LinearFamily", "linears", "parse_linear"]
