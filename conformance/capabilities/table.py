"""The capabilities that a backend may declare: a closed table, which needs no torch.

A flag says whether there is something beyond plain calls. Data says for which problems there is a kernel at all, so
that it can be printed, checked and compared, where `can_implement` is a function that can only be asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from cases.problem import OPERAND_FORMATS, OUT_DTYPES
from cases.scenarios import COMPILE, DETERMINISM, GRAPHS, INVARIANCE, OPERAND_CHECKS, OUT, STRIDED

ZERO_SIZES, DTYPES, DIVISIBLE, LARGEST = "zero_sizes", "dtypes", "divisible", "largest"
AXES = ("m", "n", "k")
MACS = "macs"
"""Multiply-accumulates, M times N times K."""
SPELLINGS: Mapping[str, str] = {
    **{name: name for name in (*OPERAND_FORMATS, *OUT_DTYPES)},
    **{f"float8_{name}": name for name in OPERAND_FORMATS},
    **{torch_name: name for name, torch_name in OUT_DTYPES.items()},
}
"""How dtypes may be spelled, as in ids or as torch does, and what they are called here."""


@dataclass(frozen=True)
class Capability:
    """What declaring ``name`` says, in words; ``form`` is what may stand behind it, ``where`` what it is about.

    Where ``limits``, it says which problems the kernel implements, so that all others are excluded and these are owed.
    Where False is a refusal (``refuses``), what is excluded is asked for once all the same.
    """

    name: str
    form: Literal["flag", "dtypes", "sizes"]
    where: str
    refuses: bool = True
    keys: tuple[str, ...] = ()

    @property
    def limits(self) -> bool:
        """Whether it says which problems the kernel implements."""
        return self.form != "flag"

    @property
    def words(self) -> str:
        """The name as it stands in a sentence."""
        return self.name.replace("_", " ")


_ROWS = (
    Capability(DTYPES, "dtypes", "formats of A and B, and dtypes of the result", keys=(*OPERAND_FORMATS, *OUT_DTYPES)),
    Capability(DIVISIBLE, "sizes", "what M, N and K are multiples of", keys=AXES),
    Capability(LARGEST, "sizes", "the largest M, N and K, and their product", keys=(*AXES, MACS)),
    Capability(ZERO_SIZES, "flag", "M = 0"),
    Capability(STRIDED, "flag", "operands with other strides or storage offsets"),
    Capability(OUT, "flag", "a result written to a given tensor"),
    Capability(GRAPHS, "flag", "capture in a CUDA graph, and its replay"),
    Capability(COMPILE, "flag", "torch.compile and fake operands"),
    # False says nothing about refusing: equal calls differ, rows depend on their batch, wrong operands are read from
    # whatever lies where they should be.
    Capability(DETERMINISM, "flag", "equal calls give equal bits", refuses=False),
    Capability(INVARIANCE, "flag", "a row has the same bits for every M", refuses=False),
    Capability(OPERAND_CHECKS, "flag", "operands that contradict each other are refused", refuses=False),
)
TABLE: Mapping[str, Capability] = {row.name: row for row in _ROWS}
"""Every capability by its name, in the order in which they are told."""
