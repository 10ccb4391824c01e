"""What formulas are made of: random bytes, codes, and scales, as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cases.places import shape_of
from cases.problem import Problem

WIDTH = 120
"""Columns of a script."""


@dataclass(frozen=True)
class Formula:
    """Lines of Python after which A, B, As and Bs are the operands, given M, N, K and random ``words`` by name.

    ``words`` maps the streams that the lines draw from to how many words they take, as an expression.
    """

    lines: tuple[str, ...]
    words: dict[str, str] = field(default_factory=dict)

    def __add__(self, other: Formula) -> Formula:
        """One after the other."""
        return Formula(self.lines + other.lines, self.words | other.words)


def octets(problem: Problem) -> Formula:
    """A and B as random bytes, of which a word has eight."""
    if problem.k % 8 == 0:
        views = '(words[x].view(torch.uint8).view(-1, K) for x in ("A", "B"))'
        return Formula((f"A, B = {views}",), {"A": "M * K // 8", "B": "N * K // 8"})
    views = ", ".join(f'words["{x}"].view(torch.uint8)[: {rows} * K].view({rows}, K)' for x, rows in ("AM", "BN"))
    return Formula((f"A, B = {views}",), {"A": "-(-M * K // 8)", "B": "-(-N * K // 8)"})


def codes(problem: Problem, text: Callable[[str, int], str], note: str = "") -> Formula:
    """A and B from their bytes: ``text`` says how for a format and a side (0, 1), of bytes ``{x}``, to ``{dtype}``."""
    formats = (problem.a, problem.b)
    one, other = (text(name, i).format(x="{x}", dtype=f"torch.float8_{name}") for i, name in enumerate(formats))
    return both("A", "B", one, other, note)


def scale_words(problem: Problem, *suffixes: str) -> dict[str, str]:
    """The streams that have a word for every scale, for both sides and each of the ``suffixes``."""
    shapes = {name: shape_of(problem, name) for name in ("As", "Bs")}
    return {f"{name}{suffix}": f"{x[0]} * {x[1]}" for name, x in shapes.items() for suffix in suffixes}


def below(name: str, limit: int, columns: int) -> str:
    """Integers 0 .. limit-1 in rows of ``columns``, from the stream with that name."""
    return f"(words[{name}] & 0x7FFFFFFF).view(-1, {columns}) % {limit}"


def power(exponent: str) -> str:
    """``2**exponent`` as float32, exact: `torch.pow` need not be. ``exponent`` has 127 added already."""
    return f"({exponent} << 23).int().view(torch.float32)"


def both(first: str, second: str, one: str, other: str, note: str = "") -> Formula:
    """Two tensors anew, from texts of ``{x}``: in one line where the texts are the same, with a note if it fits."""
    lines = [f"{name} = {text.format(x=name)}" for name, text in ((first, one), (second, other))]
    if one == other:
        lines = [f"{first}, {second} = ({one.format(x='x')} for x in ({first}, {second}))"]
    noted = (f"{line}  # {note}" for line in lines)
    return Formula(
        tuple(long if note and len(long) <= WIDTH else line for long, line in zip(noted, lines, strict=True))
    )
