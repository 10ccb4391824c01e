"""Which elements share a scale."""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAME = re.compile(r"token-group(?P<group>[1-9]\d{0,4})|block(?P<rows>[1-9]\d{0,4})x(?P<columns>[1-9]\d{0,4})")
EXAMPLES = ("token-group128", "block128x128")


@dataclass(frozen=True)
class Granularity:
    """One scale for every ``rows`` x ``columns`` elements, the last ones of either axis maybe fewer.

    ``token-group128`` is 1 x 128, what activations have; ``block128x128`` is what weights have.
    """

    name: str
    rows: int
    columns: int

    @classmethod
    def parse(cls, name: str) -> Granularity | None:
        """The granularity of that name, or None where it is none."""
        match = _NAME.fullmatch(name)
        if not match:
            return None
        if match["group"]:
            return cls(name, 1, int(match["group"]))
        return cls(name, int(match["rows"]), int(match["columns"]))

    @property
    def is_of_tokens(self) -> bool:
        """Whether every row has scales of its own."""
        return self.name.startswith("token-group")

    def groups(self, rows: int, columns: int) -> tuple[int, int]:
        """How many scales a matrix has along each axis."""
        return -(-rows // self.rows), -(-columns // self.columns)

    def is_ragged(self, rows: int, columns: int) -> bool:
        """Whether the last group of an axis is not whole."""
        return bool(rows % self.rows or columns % self.columns)
