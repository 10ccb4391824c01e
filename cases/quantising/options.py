"""What a quantiser, or a linear, is asked for beyond a plain call, and how its input is handed over. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

About = Literal["layout of the scales", "values of the scales", "input", "calls"]


@dataclass(frozen=True)
class Option:
    """One thing that is other than in a plain call; no case has two that are ``about`` the same."""

    name: str
    about: About
    catches: str


_OPTIONS = (
    Option("column-major", "layout of the scales", "scales that do not lie by columns, strides (1, M)"),
    Option(
        "tma-aligned",
        "layout of the scales",
        "scales by columns whose leading dimension is not M rounded up to 4, strides (1, round_up(M, 4))",
    ),
    Option("ue8m0", "values of the scales", "scales that are not rounded up to a power of two"),
    Option("x-rows-padded", "input", "a leading dimension of x above K that is ignored, NaN between the rows"),
    Option("x-offset", "input", "an x that starts one element behind a boundary, read or written in wider pieces"),
    Option("x-column-major", "input", "an x whose last stride is not 1, taken for one whose is"),
    Option("x-3d", "input", "an x of three dimensions that is flattened wrongly"),
    Option("twice", "calls", "a second call on the same input that gives other bits"),
)
OPTIONS = {option.name: option for option in _OPTIONS}
"""By the name in ids, in the order in which ids have them."""
OF_INPUTS = tuple(option.name for option in _OPTIONS if option.about in ("input", "calls"))
"""Those that a linear has as well."""


def spelled(names: Iterable[str]) -> str:
    """How an id names its options: ``@tma-aligned+ue8m0``, nothing where there is none."""
    said = "+".join(names)
    return said and f"@{said}"


def parse_options(said: str | None, text: str, known: tuple[str, ...] = tuple(OPTIONS)) -> tuple[str, ...]:
    """The options ``said`` in the id ``text``, in the order of ids. Raises ValueError where it cannot have them."""
    names = tuple(said.split("+")) if said else ()
    wrong = _why_not(names, known)
    if wrong:
        raise ValueError(f"{text!r} {wrong}")
    return tuple(sorted(names, key=tuple(OPTIONS).index))


def _why_not(names: tuple[str, ...], known: tuple[str, ...]) -> str | None:
    for name in names:
        if name not in known:
            return f"names an unknown option {name!r}; choose of {', '.join(known)}"
    about = [OPTIONS[name].about for name in names]
    for what in about:
        if about.count(what) > 1:
            return f"names two options about the same, the {what}"
    return None


def marks_of(names: tuple[str, ...], is_special: bool) -> tuple[str, ...]:
    """Names of the pytest markers that say what a case with these options is about."""
    mine = (
        "memory" if any(OPTIONS[name].about in ("input", "layout of the scales") for name in names) else "",
        "determinism" if "twice" in names else "",
        "special_values" if is_special else "",
    )
    return tuple(mark for mark in mine if mark)


def why_not_flattened(names: tuple[str, ...], rows: int) -> str | None:
    """Why an x of so many rows cannot have three dimensions, or None."""
    if "x-3d" in names and (rows % 2 or not rows):
        return "x-3d takes an even number of rows, from 2"
    return None
