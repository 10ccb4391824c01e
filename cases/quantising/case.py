"""A case for a quantiser: what is quantised, with which values, under an id that never depends on order."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cases.family import Tier
from cases.problem import OPERAND_FORMATS, OUT_DTYPES
from cases.quantising.families import FAMILIES, QuantFamily
from cases.quantising.granularity import EXAMPLES, Granularity
from cases.quantising.options import OPTIONS, marks_of, parse_options, spelled, why_not_flattened
from cases.spelling import check_choices, checked, numbers_in

PREFIX = "quantise"
_ID = re.compile(
    r"quantise/(?P<granularity>[^/@]+)(@(?P<options>[^/]+))?/(?P<axis>[mn])(?P<rows>\d+)-k(?P<columns>\d+)"
    r"/(?P<source>[^/-]+)-(?P<target>[^/-]+)/(?P<family>[^/]+)/s(?P<seed>\d+)"
)
ELEMENTS_AS_MACS = 16
"""Multiply-adds that take as long as an element does, judge included."""


@dataclass(frozen=True)
class QuantCase:
    """x [rows, columns] of dtype ``source`` (a key of `OUT_DTYPES`) to be quantised to FP8 ``target``.

    ``family`` fills x under ``seed``; ``options`` say what else is asked for, and how x is handed over.
    """

    granularity: Granularity
    rows: int
    columns: int
    source: str
    target: str
    family: QuantFamily
    seed: int = 0
    options: tuple[str, ...] = ()

    section = "quantisers"
    """The part of the plan that it belongs to."""

    @property
    def shape(self) -> str:
        """``m83-k7168`` of activations, ``n576-k7168`` of a weight."""
        return f"{'m' if self.granularity.is_of_tokens else 'n'}{self.rows}-k{self.columns}"

    @property
    def id(self) -> str:
        """``quantise/token-group128@ue8m0/m83-k7168/bf16-e4m3fn/ties/s0``."""
        what = f"{self.granularity.name}{spelled(self.options)}"
        return f"{PREFIX}/{what}/{self.shape}/{self.source}-{self.target}/{self.family.name}/s{self.seed}"

    @property
    def inputs(self) -> str:
        """Names the input bytes, which do not depend on what is asked for."""
        formats = f"{self.source}-{self.target}"
        return f"{PREFIX}/{self.granularity.name}/{self.shape}/{formats}/{self.family.name}/s{self.seed}"

    @property
    def check(self) -> str:
        """What this case is a case of."""
        return f"quantiser/{'+'.join(self.options) or self.family.name}"

    @property
    def marks(self) -> tuple[str, ...]:
        """Names of the pytest markers that say what is checked."""
        return marks_of(self.options, self.family.is_special)

    @property
    def tier(self) -> Tier:
        """What results are held to: nothing but what the definition gives."""
        return "exact"

    @property
    def macs(self) -> int:
        """About how long it takes, in multiply-adds."""
        return ELEMENTS_AS_MACS * self.rows * self.columns

    @property
    def catches(self) -> str:
        """What is caught by it."""
        return "; ".join(OPTIONS[name].catches for name in self.options) or self.family.catches

    @property
    def is_ragged(self) -> bool:
        """Whether the last group is not whole, which upstream asserts against."""
        return self.granularity.is_ragged(self.rows, self.columns)

    def why_not(self) -> str | None:
        """Why this case cannot be built, or None."""
        if not self.granularity.is_of_tokens and {"column-major", "tma-aligned", "x-3d"} & {*self.options}:
            return "scales by columns and an x of three dimensions are for activations"
        if "x-3d" in self.options and {"column-major", "tma-aligned"} & {*self.options}:
            return "which strides the scales of three dimensions have is nowhere said"
        return why_not_flattened(self.options, self.rows) or self.family.why_not(self.source, self.target)


def parse_quantisation(text: str) -> QuantCase:
    """The case with id ``text``. Raises ValueError for anything that is no id of a buildable case."""
    match = _ID.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is no case id; they look like {EXAMPLE.id}")
    granularity = Granularity.parse(match["granularity"])
    if granularity is None:
        raise ValueError(f"{text!r} names an unknown granularity; they look like {' and '.join(EXAMPLES)}")
    check_choices(
        text,
        ("dtype of x", match["source"], tuple(OUT_DTYPES)),
        ("FP8 format", match["target"], OPERAND_FORMATS),
        ("value family", match["family"], tuple(FAMILIES)),
    )
    options = parse_options(match["options"], text)
    rows, columns, seed = numbers_in(text, *match.group("rows", "columns", "seed"))
    family = FAMILIES[match["family"]]
    case = QuantCase(granularity, rows, columns, match["source"], match["target"], family, seed, options)
    return _buildable(case, text)


def _buildable(case: QuantCase, text: str) -> QuantCase:
    if not case.columns or (not case.rows and not case.granularity.is_of_tokens):
        raise ValueError(f"{text!r} has nothing along K or N; they start at 1")
    return checked(case, text)


EXAMPLE = QuantCase(Granularity("token-group128", 1, 128), 83, 7168, "bf16", "e4m3fn", FAMILIES["ties"])
"""Upstream's activations."""
