"""What quantisers are tried with. Importing this needs no torch."""

from cases.quantising.case import EXAMPLE, PREFIX, QuantCase, parse_quantisation
from cases.quantising.families import FAMILIES, QuantFamily
from cases.quantising.plan import quantisations

__all__ = ["EXAMPLE", "FAMILIES", "PREFIX", "QuantCase", "QuantFamily", "parse_quantisation", "quantisations"]
