"""Formulas of data that is judged against a bound, after `cases.fill.ordinary`."""

from __future__ import annotations

from cases import Case
from conformance.scripting.formulas.pieces import Formula, both, codes, octets, scale_words

NAN = {
    "e4m3fn": "{x} & 0x7F == 0x7F",
    "e5m2": "{x} & 0x7C == 0x7C",
    "e4m3fnuz": "{x} == 0x80",
    "e5m2fnuz": "{x} == 0x80",
}
"""Which bytes are codes of no finite number, by format."""
FLOAT = ".int().view(torch.float32)"


def _finite(case: Case, more: str = "") -> Formula:
    def text(form: str, _: int) -> str:
        finite = f"torch.where({NAN[form]}, {{x}} ^ 0x40, {{x}})"
        return f"({finite}{more}).view({{dtype}})" if more else f"{finite}.view({{dtype}})"

    return octets(case.problem) + codes(case.problem, text, "every finite code")


def _scales(case: Case, view: str) -> Formula:
    """As and Bs as floats with 24 random bits and exponents -10 to -5, or as their bits where ``view`` is empty."""
    columns = case.problem.k_scales
    drawn = Formula((f'As, Bs = (words[x].view(-1, {columns}) for x in ("As", "Bs"))',), scale_words(case.problem, ""))
    bits = "({x} >> 23 & 0x7FFFFFFF) % 6 + 117 << 23 | {x} & 0x7FFFFF | 1"
    return drawn + both("As", "Bs", *(f"({bits}){view}" if view else bits,) * 2)


def uniform_codes(case: Case) -> Formula:
    """Every finite code; scales of 24 random bits."""
    return _finite(case) + _scales(case, FLOAT)


def positive_codes(case: Case) -> Formula:
    """Finite codes and scales of one sign, the last bit of half of the scales cleared."""
    even = 's & ~(words[f"{x}/even"].view(s.shape) & 1) for x, s in (("As", As), ("Bs", Bs))'
    cleared = Formula((f"As, Bs = ({even})",), scale_words(case.problem, "/even"))
    return _finite(case, " & 0x7F") + _scales(case, "") + cleared + both("As", "Bs", *(f"{{x}}{FLOAT}",) * 2)
